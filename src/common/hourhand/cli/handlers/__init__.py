"""``hourhand handlers``: what is registered, and what each handler takes."""
