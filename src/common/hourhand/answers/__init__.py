"""The answers of the API: one class for each noun, shared by server, document, client and CLI.

A field has its name, its type and its text here and nowhere else. Every field is always there,
null (``None``) if it has no value, unless it has a default. `Annotated` adds what a
type cannot say: a text, of a field that is submitted as it is returned; and what the OpenAPI
document says instead of the type, which is an enumeration or the names that a text may be. For
Python these are texts: a newer server may know more names, and those known here compare as equal.
"""
