-- Requests for an account are found by state and address, and the newest of all states without sorting.
CREATE INDEX access_request_by_email ON access_request (status, email);
CREATE INDEX access_request_newest ON access_request (created_ms, id);
