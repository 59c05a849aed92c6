-- The 2,048 smallest visitor numbers of a site's day, eight bytes each: exact up to that many, an estimate above.
CREATE TABLE source_sketch (
    site BIGINT NOT NULL,
    day INTEGER NOT NULL,
    smallest BLOB NOT NULL,
    PRIMARY KEY (site, day)
);
