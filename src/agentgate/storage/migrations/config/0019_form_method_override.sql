-- Whether the server behind may take a form's method from its body, which the gateway does not see.
ALTER TABLE site ADD COLUMN form_method_override INTEGER NOT NULL DEFAULT 1;
