-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE entry (id serial PRIMARY KEY, amount integer NOT NULL, owner integer);
