-- SPDX-License-Identifier: Apache-2.0
-- The database of the clients workload: one table, no key and no index, as published.
create table movie (
    title    text not null,
    year     smallint,
    cost     numeric(9,2),
    director text
);
