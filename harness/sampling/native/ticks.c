// SPDX-License-Identifier: Apache-2.0
/*
 * The ticks of a sampler between two slow ones, outside of the interpreter.
 *
 * A Python thread that only wakes a hundred times a second costs most of what sampling may cost, so one
 * call (through ctypes, which gives the interpreter's lock away) takes all the ticks up to the next slow
 * one. It opens, allocates and keeps nothing: what it reads and where it writes belongs to the caller.
 *
 * The rules of the schedule are those of `Schedule` and the order of readings that of `ProcessReader` in
 * Python: harness/tests/contracts/tick_source.py holds both to the same tests. Whoever changes a struct here
 * changes harness/sampling/native_ticks.py with it.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
/* No longer at a stretch, so that a call to stop is heard; see LONGEST_SLEEP_NS in glancer.py. */
#define LONGEST_SLEEP_NS INT64_C(50000000)

/* Absolute: the moment of a tick follows from its number alone, so a late one does not shift the others. */
struct schedule {
    int64_t begin_ns;
    double period_ns; /* not whole: 300 Hz would drift away */
    int64_t number;   /* of the next tick */
    int64_t ticks;
    int64_t missed;
    int64_t last_ns;
    int64_t longest_gap_ns;
};

struct process {
    int32_t cpu_clock;
    int32_t statm; /* a held descriptor */
};

struct glance {
    int64_t at_ns;
    int64_t cpu_ns;
    int64_t size_pages; /* 0: it is gone, or has ended and was not reaped */
    int64_t resident_pages;
};

/* Written by other threads of the interpreter while we work. */
struct calls {
    _Atomic int32_t stop;
    _Atomic int32_t added;
};

_Static_assert(sizeof(struct schedule) == 56 && sizeof(struct process) == 8 && sizeof(struct glance) == 32
                   && sizeof(struct calls) == 8,
               "Python lays these out itself");

static int64_t read_clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return -1;
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t due_ns(const struct schedule *schedule) {
    return schedule->begin_ns + (int64_t)((double)schedule->number * schedule->period_ns);
}

/* Sleep until the next tick is due; false: called to stop instead. */
static bool sleep_until_due(const struct schedule *schedule, struct calls *calls) {
    const int64_t due = due_ns(schedule);
    for (;;) {
        if (atomic_load(&calls->stop))
            return false;
        const int64_t now = read_clock_ns(CLOCK_MONOTONIC);
        if (now >= due)
            return true;
        const int64_t until = due - now > LONGEST_SLEEP_NS ? now + LONGEST_SLEEP_NS : due;
        const struct timespec wake = {
            .tv_sec = (time_t)(until / NS_PER_S), .tv_nsec = (long)(until % NS_PER_S)};
        /* A signal ends it early; then the loop looks and sleeps again. */
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
}

/* Read one number of at most 18 digits and what blank follows it; NULL: there is none. */
static const char *read_number(const char *text, const char *end, int64_t *number) {
    const char *const first = text;
    int64_t value = 0;
    for (; text < end && *text >= '0' && *text <= '9' && text - first < 18; text++)
        value = value * 10 + (*text - '0');
    if (text == first || text == end || *text != ' ')
        return NULL;
    *number = value;
    return text + 1;
}

static struct glance glance_at(const struct process *process) {
    struct glance seen = {.at_ns = read_clock_ns(CLOCK_MONOTONIC)};
    const struct glance gone = seen;
    char statm[64];
    seen.cpu_ns = read_clock_ns(process->cpu_clock);
    if (seen.cpu_ns < 0)
        return gone;
    /* Last, because it proves that the clock was this process's: the id may have a new owner. */
    const ssize_t length = pread(process->statm, statm, sizeof statm, 0);
    const char *const end = statm + (length > 0 ? length : 0);
    const char *const rest = read_number(statm, end, &seen.size_pages);
    return rest != NULL && read_number(rest, end, &seen.resident_pages) != NULL ? seen : gone;
}

/* Count the tick that began at `now` and go on to the first one that is not past: others are missed. */
static void count_tick(struct schedule *schedule, int64_t now) {
    if (now - schedule->last_ns > schedule->longest_gap_ns)
        schedule->longest_gap_ns = now - schedule->last_ns;
    schedule->last_ns = now;
    schedule->ticks++;
    schedule->number++;
    /* The first that is not past, rounded up by hand: ceil() would want one more library. */
    const double passed = (double)(read_clock_ns(CLOCK_MONOTONIC) - schedule->begin_ns) / schedule->period_ns;
    int64_t first = (int64_t)passed;
    if ((double)first < passed)
        first++;
    if (first > schedule->number) {
        schedule->missed += first - schedule->number;
        schedule->number = first;
    }
}

/*
 * Take ticks until tick `before` is due, or one is due and something was added, or a call to stop.
 * Writes n_processes glances for each tick, in their order, and returns how many ticks that were.
 * `seen` has room for (before - schedule->number) ticks.
 */
int64_t glances_take(struct schedule *schedule, int64_t before, const struct process *processes,
                     int64_t n_processes, struct calls *calls, struct glance *seen);

int64_t glances_take(struct schedule *schedule, int64_t before, const struct process *processes,
                     int64_t n_processes, struct calls *calls, struct glance *seen) {
    int64_t taken = 0;
    while (sleep_until_due(schedule, calls) && schedule->number < before && !atomic_load(&calls->added)) {
        const int64_t now = read_clock_ns(CLOCK_MONOTONIC);
        for (int64_t i = 0; i < n_processes; i++)
            *seen++ = glance_at(&processes[i]);
        count_tick(schedule, now);
        taken++;
    }
    return taken;
}
