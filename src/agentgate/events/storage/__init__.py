"""Events in SQL: encoding, roll-ups, days, and the queries over them."""
