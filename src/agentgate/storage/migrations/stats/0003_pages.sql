-- The page loads of all sites in an hour: only rows of the counter `pages`.
CREATE INDEX counter_pages_by_hour ON counter_hour (hour, site) WHERE name = 'pages';
