-- SPDX-License-Identifier: Apache-2.0
CREATE INDEX entry_owner ON entry (owner);
