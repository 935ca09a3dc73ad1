-- SPDX-License-Identifier: Apache-2.0
INSERT INTO entry (amount) VALUES (3), (-3);
