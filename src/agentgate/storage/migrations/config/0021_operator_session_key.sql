-- Operators' sessions: which operator key each was made with (a MAC), and what tells sessions apart in a list.
-- A session from before has none of them and is over: nobody knows with which key it was made.
ALTER TABLE operator_session ADD COLUMN key_tag BYTEA;
ALTER TABLE operator_session ADD COLUMN browser TEXT;
ALTER TABLE operator_session ADD COLUMN address_id TEXT;
