// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

/** A refusal on its way to {@link Failures}; bad input is ordinary, so it carries no stack trace. */
final class Refused extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final Refusal refusal;

    Refused(Refusal refusal) {
        super(refusal.name(), null, false, false);
        this.refusal = refusal;
    }

    Refusal refusal() {
        return refusal;
    }
}
