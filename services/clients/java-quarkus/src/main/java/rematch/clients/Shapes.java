// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.util.List;

/** What Jackson cannot be told to refuse: {@code null} where an object should be. */
final class Shapes {

    private Shapes() {
    }

    static List<Upstream.Phone> whole(List<Upstream.Phone> phones) {
        if (phones == null || phones.contains(null)) {
            throw new Refusal.Refused(Refusal.UPSTREAM_BAD_ANSWER);
        }
        return phones;
    }

    static Upstream.Address whole(Upstream.Address address) {
        if (address == null) {
            throw new Refusal.Refused(Refusal.UPSTREAM_BAD_ANSWER);
        }
        return address;
    }
}
