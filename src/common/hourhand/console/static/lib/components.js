// All that views are built from, in one import.
export { Badge, PriorityBadge, StatusBadge, StatusMark, statusTone, statusWord } from "./badges.js";
export { CopyButton } from "./copy.js";
export { confirmAction, Dialog } from "./dialog.js";
export { CheckField, Field, keptNote, noteBody, NoteField, SelectField, TextField } from "./forms.js";
export { Icon } from "./icons.js";
export { JsonEditor } from "./json_editor.js";
export { JsonView, LongText } from "./json_view.js";
export { Changes, LiveSwitch, OfflineBanner, Page, Pager } from "./page.js";
export { EmptyState, ErrorState, FieldProblems, Loading } from "./states.js";
export { JobId, Table } from "./table.js";
export { Time } from "./time.js";
export { toast } from "./toast.js";
