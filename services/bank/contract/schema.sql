-- SPDX-License-Identifier: Apache-2.0
-- The tables as published in 2018. There is no column for a balance and no index but those of the keys.
CREATE TABLE client (
    id    serial PRIMARY KEY,
    name  varchar(20),
    email varchar(20),
    phone varchar(20)
);

CREATE TABLE transaction (
    id             serial PRIMARY KEY,
    from_client_id integer,
    to_client_id   integer,
    amount         integer
);
