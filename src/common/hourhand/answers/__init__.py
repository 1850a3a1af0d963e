"""What the API answers: one class for each noun, which server, document, client and CLI share.

A field has its name, its type and its text here and nowhere else. Every field is always there,
null (``None``) where there is nothing to tell, unless it has a default. `Annotated` adds what a
type cannot say: a text, of a field that is submitted as it is returned; and what the OpenAPI
document says instead of the type, which is an enumeration or the names that a text may be. For
Python these are texts: a newer server may know more names, and those known here compare as equal.
"""
