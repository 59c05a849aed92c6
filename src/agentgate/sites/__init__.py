"""Sites: their settings, their views for decisions, their health, and the scopes that find them."""
