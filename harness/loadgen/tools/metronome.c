// SPDX-License-Identifier: Apache-2.0
/* metronome: HTTP/1.1 load from one thread that never sleeps, so that a request is sent when it is due.

   Open loop (-r): arrivals are due evenly or, with -p, as a Poisson process, whatever the answers do. A request takes
   the connection that has been free for longest; with none free it waits, first due first sent. Closed loop (-u): each
   user has a connection and sends when its answer was read. Every request leaves a row in memory; rows are written
   when the load is over, so that no request waits for a disk.

   Times are nanoseconds of CLOCK_MONOTONIC. An answer arrives when the kernel takes its last packet (SO_TIMESTAMPNS),
   not when this program reads it. What this program itself adds to a request is the time from when it could have been
   sent (it was due, and its connection free) until it was written.

   A program that never sleeps would keep its CPU from whatever shares it: a service behind the one under load, the
   sampler. It runs as SCHED_IDLE, so that they get the CPU the moment they wake; what that delays is in its lateness.
   Between sessions (setsid) the kernel divides a CPU by group, where it has autogroups, so the group is made least too.

   The file of requests has for each, as metronome/adapter.py writes it, a line
       WEIGHT STATUS IS_HEAD NAME_BYTES REQUEST_BYTES N_BODIES
   then the name, the request, and each right body after a line with its length. No body: any is right. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
enum { FAILED = 1, BAD_INPUT = 2 };
enum { MAX_HEAD = 1 << 16, MAX_ANSWER = 1 << 28, BATCH = 8, CONNECT_WITHIN_MS = 1000 };
static const uint64_t TIMEOUTS_EVERY_NS = 10000000;

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *format, ...) {
    va_list words;
    va_start(words, format);
    fputs("metronome: ", stderr);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    exit(status);
}

static FILE *opened(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file) fail(BAD_INPUT, "%s: %s", path, strerror(errno));
    return file;
}

static void *grown(void *memory, size_t n, size_t size) {
    void *larger = realloc(memory, (n ? n : 1) * size);
    if (!larger) fail(FAILED, "no memory for %zu times %zu bytes", n, size);
    return larger;
}

static uint64_t ns_of(struct timespec time) { return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec; }
static uint64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return ns_of(time);
}
static uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t clock_offset_ns(void) { /* CLOCK_MONOTONIC less CLOCK_REALTIME: the closest of some readings */
    uint64_t offset = 0, closest = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = now(), real = clock_ns(CLOCK_REALTIME), apart = now() - before;
        if (apart < closest) offset = before + apart / 2 - real, closest = apart;
    }
    return offset;
}

/* -- what is asked for -- */

static struct {
    double rate_per_s, duration_s, grace_s, timeout_s, late_us;
    unsigned connections;
    bool closed, poisson;
    uint64_t seed;
    const char *rows, *totals;
} opt = {.duration_s = 10, .grace_s = 10, .timeout_s = 60, .late_us = 50, .connections = 16, .seed = 1};

typedef struct { char *bytes; size_t size; } Text;
typedef struct {
    uint64_t weight_up_to; /* the sum of the weights up to this one */
    int status;
    bool is_head;
    Text name, bytes, *right;
    unsigned n_right;
} Request;
static Request *requests;
static unsigned n_requests;
static struct addrinfo *address;

static double number(int option, const char *text, double least, double most) {
    char *stop;
    double value = strtod(text, &stop);
    if (stop == text || *stop || !(value >= least && value <= most))
        fail(BAD_INPUT, "-%c: found %s; allowed: a number from %.9g to %.9g", option, text, least, most);
    return value;
}

static Text read_text(FILE *file, const char *path, size_t size) {
    Text text = {grown(NULL, size + 1, 1), size};
    if (fread(text.bytes, 1, size, file) != size) fail(BAD_INPUT, "%s: ends within a request", path);
    text.bytes[size] = 0;
    return text;
}

static void read_requests(const char *path) {
    FILE *file = opened(path, "rb");
    for (;;) {
        unsigned weight, status, is_head, n_right;
        size_t name_size, size;
        int n = fscanf(file, "%u %u %u %zu %zu %u", &weight, &status, &is_head, &name_size, &size, &n_right);
        if (n == EOF) break;
        if (n != 6 || fgetc(file) != '\n' || !weight || size > MAX_ANSWER)
            fail(BAD_INPUT, "%s: request %u: found no line of six numbers", path, n_requests + 1);
        requests = grown(requests, n_requests + 1, sizeof *requests);
        uint64_t before = n_requests ? requests[n_requests - 1].weight_up_to : 0;
        Request *r = &requests[n_requests++];
        *r = (Request){.weight_up_to = before + weight, .status = (int)status, .is_head = is_head, .n_right = n_right};
        r->name = read_text(file, path, name_size);
        r->bytes = read_text(file, path, size);
        r->right = grown(NULL, n_right, sizeof *r->right);
        for (unsigned i = 0; i < n_right; i++) {
            if (fscanf(file, "%zu", &size) != 1 || fgetc(file) != '\n' || size > MAX_ANSWER)
                fail(BAD_INPUT, "%s: request %u: found no length of a body", path, n_requests);
            r->right[i] = read_text(file, path, size);
        }
    }
    fclose(file);
    if (!n_requests) fail(BAD_INPUT, "%s: has no requests", path);
}

static void read_arguments(int argc, char **argv) {
    static const char ALLOWED[] = "metronome (-r RATE [-p] | -u) -c CONNECTIONS -d SECONDS [-g GRACE_S] [-t TIMEOUT_S]"
        " [-l LATE_US] [-s SEED] -o ROWS -j TOTALS ADDRESS PORT REQUESTS";
    for (int o; (o = getopt(argc, argv, "r:puc:d:g:t:l:s:o:j:")) != -1;) switch (o) {
        case 'r': opt.rate_per_s = number(o, optarg, 1e-3, 1e7); break;
        case 'p': opt.poisson = true; break;
        case 'u': opt.closed = true; break;
        case 'c': opt.connections = (unsigned)number(o, optarg, 1, 1e5); break;
        case 'd': opt.duration_s = number(o, optarg, 1e-3, 1e5); break;
        case 'g': opt.grace_s = number(o, optarg, 0, 1e5); break;
        case 't': opt.timeout_s = number(o, optarg, 1e-3, 1e5); break;
        case 'l': opt.late_us = number(o, optarg, 0, 1e9); break;
        case 's': opt.seed = (uint64_t)number(o, optarg, 0, 0x1p53); break;
        case 'o': opt.rows = optarg; break;
        case 'j': opt.totals = optarg; break;
        default: fail(BAD_INPUT, "allowed: %s", ALLOWED);
    }
    if (argc - optind != 3 || !opt.rows || !opt.totals || (opt.rate_per_s > 0) == opt.closed)
        fail(BAD_INPUT, "allowed: %s", ALLOWED);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    int status = getaddrinfo(argv[optind], argv[optind + 1], &hints, &address);
    if (status) fail(BAD_INPUT, "%s port %s: %s", argv[optind], argv[optind + 1], gai_strerror(status));
    read_requests(argv[optind + 2]);
}

/* -- rows -- */

/* An outcome from NO_HTTP on ends the connection. */
typedef enum { RIGHT, WRONG_STATUS, WRONG_BODY, NO_HTTP, CLOSED, REFUSED, TIMEOUT } Outcome;
static const char *const WORDS[] = {
    "", "status", "wrong body", "malformed HTTP", "connection closed", "connection refused", "timeout"};
typedef struct {
    uint64_t due, latency, sent_after, own; /* latency: from when it was due; sent_after: so long after that */
    unsigned request;
    short status;
    unsigned char outcome;
} Row;
static Row *rows;
static size_t n_rows, max_rows;
static uint64_t n_late, n_unsent;

/* -- arrivals -- */

static uint64_t start, end, due; /* due: when the next request is to be sent */
static uint64_t arrivals_seed, choice_seed, n_arrivals;
static double due_ns; /* since the start */

static uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void next_due(void) {
    if (opt.poisson) due_ns -= log(((double)(random_bits(&arrivals_seed) >> 12) + 0.5) * 0x1p-52) * 1e9 / opt.rate_per_s;
    else due_ns = (double)n_arrivals++ * 1e9 / opt.rate_per_s;
    due = start + (uint64_t)due_ns;
}

static unsigned choose(void) {
    unsigned i = 0;
    if (n_requests > 1)
        for (uint64_t at = random_bits(&choice_seed) % requests[n_requests - 1].weight_up_to;
             requests[i].weight_up_to <= at;)
            i++;
    return i;
}

/* -- connections: the one that has been free for longest takes the next request -- */

typedef struct {
    int fd; /* -1: to be opened by its next request */
    bool busy, closing, chunked;
    int status;
    unsigned request;
    uint64_t free_at, due, sent_at, own;
    size_t sent, size, capacity, head, length, chunk;
    char *in;
} Connection;
static Connection *connections;
static unsigned *free_ring, ring_first, n_free, n_busy;
static int poller;
static uint64_t clock_offset;

static void drop(Connection *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->closing = false;
}

static void set_free(Connection *c, uint64_t at) {
    c->free_at = at;
    free_ring[(ring_first + n_free++) % opt.connections] = (unsigned)(c - connections);
}

static bool open_connection(Connection *c) { /* what is sent before it is connected waits for that */
    static const int ON = 1;
    c->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) fail(FAILED, "connection %td of %u: %s", c - connections + 1, opt.connections, strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &ON, sizeof ON);
    setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &ON, sizeof ON);
    if (connect(c->fd, address->ai_addr, address->ai_addrlen) && errno != EINPROGRESS) return false;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event)) fail(FAILED, "epoll: %s", strerror(errno));
    return true;
}

static void finish(Connection *c, Outcome outcome, uint64_t at) {
    if (n_rows == max_rows) rows = grown(rows, max_rows *= 2, sizeof *rows);
    rows[n_rows++] = (Row){.due = c->due, .latency = at - c->due, .sent_after = c->sent_at - c->due, .own = c->own,
        .request = c->request, .status = (short)c->status, .outcome = (unsigned char)outcome};
    n_late += (double)c->own > opt.late_us * 1e3;
    c->busy = false;
    n_busy--;
    if (c->closing || outcome >= NO_HTTP) drop(c);
    set_free(c, at);
}

static Outcome why_lost(void) { return errno == ECONNREFUSED ? REFUSED : CLOSED; }
static bool push_request(Connection *c) {
    const Text *bytes = &requests[c->request].bytes;
    while (c->sent < bytes->size) {
        ssize_t n = send(c->fd, bytes->bytes + c->sent, bytes->size - c->sent, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN;
        c->sent += (size_t)n;
    }
    return true;
}

static void send_next(uint64_t at) {
    Connection *c = &connections[free_ring[ring_first]];
    ring_first = (ring_first + 1) % opt.connections;
    n_free--;
    n_busy++;
    uint64_t ready = opt.closed ? at : later(due, c->free_at);
    c->busy = true;
    c->due = opt.closed ? at : due;
    c->sent_at = at;
    c->request = choose();
    c->status = 0;
    c->sent = c->size = c->head = 0;
    if (!opt.closed) next_due();
    if (c->closing) drop(c);
    bool alive = true;
    if (c->fd < 0) {
        alive = open_connection(c);
        ready = now(); /* connecting is none of this program's lateness */
    }
    alive = alive && push_request(c);
    Outcome lost = why_lost();
    uint64_t after = now();
    c->own = opt.closed ? 0 : after - ready;
    if (!alive) finish(c, lost, after);
}

/* -- answers -- */

typedef enum { BROKEN, MORE, COMPLETE } Parsed;

static Parsed unchunk(Connection *c) { /* moves the data of chunks together, after the head */
    for (char *stop = c->in + c->size;;) {
        char *from = c->in + c->chunk, *line = memmem(from, (size_t)(stop - from), "\r\n", 2), *digits;
        if (!line) return MORE;
        size_t n = strtoul(from, &digits, 16), left = (size_t)(stop - line);
        if (digits == from || n > MAX_ANSWER) return BROKEN;
        if (left < n + 4) return MORE;
        if (!n) return left == 4 ? COMPLETE : BROKEN; /* no trailers */
        memmove(c->in + c->head + c->length, line + 2, n);
        c->length += n;
        c->chunk = (size_t)(line + n + 4 - c->in);
    }
}

static Parsed parse(Connection *c) {
    bool is_head = requests[c->request].is_head;
    if (!c->head) {
        char *stop = memmem(c->in, c->size, "\r\n\r\n", 4), *line = c->in;
        if (!stop) return c->size > MAX_HEAD ? BROKEN : MORE;
        c->status = atoi(c->in + 9);
        if (memcmp(c->in, "HTTP/1.", 7) || c->status < 200 || c->status > 999) return BROKEN;
        c->chunk = c->head = (size_t)(stop + 4 - c->in);
        c->closing = c->in[7] == '0';
        c->chunked = false;
        c->length = SIZE_MAX;
        while ((line = memmem(line, (size_t)(stop - line), "\r\n", 2))) {
            line += 2;
            if (!strncasecmp(line, "content-length:", 15)) c->length = strtoul(line + 15, NULL, 10);
            else if (!strncasecmp(line, "transfer-encoding: chunked", 26)) c->chunked = !is_head;
            else if (!strncasecmp(line, "connection: close", 17)) c->closing = true;
        }
        if (c->chunked || is_head || c->status == 204 || c->status == 304) c->length = 0;
    }
    if (c->chunked) return unchunk(c);
    if (c->length > MAX_ANSWER || c->size > c->head + c->length) return BROKEN;
    return c->size == c->head + c->length ? COMPLETE : MORE;
}

static Outcome judge(const Connection *c) {
    const Request *r = &requests[c->request];
    if (c->status != r->status) return WRONG_STATUS;
    for (unsigned i = 0; i < r->n_right; i++)
        if (r->right[i].size == c->length && !memcmp(r->right[i].bytes, c->in + c->head, c->length)) return RIGHT;
    return r->n_right ? WRONG_BODY : RIGHT;
}

static ssize_t receive(Connection *c, uint64_t *arrived) { /* reads what is there, and when it came */
    if (c->capacity - c->size < 4096) {
        if (c->capacity > MAX_ANSWER) return 0;
        c->capacity = c->capacity ? c->capacity * 2 : 1 << 14;
        c->in = grown(c->in, c->capacity + 1, 1);
    }
    char control[64];
    struct iovec part = {c->in + c->size, c->capacity - c->size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    errno = 0;
    ssize_t n = recvmsg(c->fd, &message, 0);
    *arrived = now();
    struct cmsghdr *stamp = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (stamp && stamp->cmsg_level == SOL_SOCKET && stamp->cmsg_type == SCM_TIMESTAMPNS) { /* of CLOCK_REALTIME */
        struct timespec at;
        memcpy(&at, CMSG_DATA(stamp), sizeof at);
        uint64_t stamped = ns_of(at) + clock_offset;
        if (stamped > c->sent_at && stamped < *arrived) *arrived = stamped;
    }
    return n;
}

static void handle(Connection *c, uint32_t events) {
    bool ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    if (!c->busy) {
        c->closing |= ended || (events & EPOLLIN);
        return;
    }
    for (bool alive = push_request(c); alive;) {
        uint64_t arrived = 0;
        ssize_t n = receive(c, &arrived);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) break;
        c->size += (size_t)n;
        c->in[c->size] = 0;
        Parsed parsed = parse(c);
        if (parsed == MORE) continue;
        c->closing |= ended || c->sent < requests[c->request].bytes.size;
        finish(c, parsed == BROKEN ? NO_HTTP : judge(c), arrived);
        return;
    }
    finish(c, why_lost(), now());
}

static void give_up(uint64_t sent_before, uint64_t at) {
    for (unsigned i = 0; i < opt.connections; i++)
        if (connections[i].busy && connections[i].sent_at < sent_before) finish(&connections[i], TIMEOUT, at);
}

/* -- the load -- */

static void run(void) {
    const uint64_t grace = (uint64_t)(opt.grace_s * 1e9), timeout = (uint64_t)(opt.timeout_s * 1e9);
    struct epoll_event events[BATCH];
    for (uint64_t looked = start;;) {
        uint64_t at = now();
        bool more = opt.closed ? at < end : due < end;
        if ((!more && !n_busy) || at >= end + grace) return;
        if (more && (opt.closed || due <= at))
            for (unsigned left = opt.closed || !n_free ? n_free : 1; left; left--) send_next(opt.closed ? now() : at);
        if (at >= looked + TIMEOUTS_EVERY_NS) give_up(at > timeout ? at - timeout : 0, looked = at);
        int n = epoll_wait(poller, events, BATCH, 0);
        for (int i = 0; i < n; i++) handle(events[i].data.ptr, events[i].events);
    }
}

static void prepare(void) {
    max_rows = (size_t)(opt.duration_s * (opt.closed ? 5e4 : opt.rate_per_s * 1.1) + 1e4);
    rows = memset(grown(NULL, max_rows, sizeof *rows), 1, max_rows * sizeof *rows); /* every page is there now */
    connections = grown(NULL, opt.connections, sizeof *connections);
    free_ring = grown(NULL, opt.connections, sizeof *free_ring);
    poller = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < opt.connections; i++) {
        Connection *c = &connections[i];
        *c = (Connection){.fd = -1};
        bool opened_it = open_connection(c);
        struct pollfd asked = {.fd = c->fd, .events = POLLOUT};
        if (!opened_it || poll(&asked, 1, CONNECT_WITHIN_MS) != 1 || (asked.revents & (POLLERR | POLLHUP))) drop(c);
        set_free(c, 0);
    }
    arrivals_seed = opt.seed;
    choice_seed = ~opt.seed;
    clock_offset = clock_offset_ns();
    start = now() + SECOND / 1000;
    end = start + (uint64_t)(opt.duration_s * 1e9);
    if (!opt.closed) next_due();
}

static void make_way(void) { /* where it is refused, it shares its CPU evenly */
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
    FILE *nice = fopen("/proc/self/autogroup", "w");
    if (nice) fputs("19", nice), fclose(nice);
}

static void write_rows(FILE *out) {
    fputs("due_epoch_s,latency_s,ok,name,error,service_time_s,send_delay_s\n", out);
    for (const Row *row = rows; row < rows + n_rows; row++) {
        uint64_t at = row->due - clock_offset, from_sending = row->latency - row->sent_after;
        fprintf(out, "%" PRIu64 ".%09" PRIu64 ",%.9f,%s,%s,%s", at / SECOND, at % SECOND, 1e-9 * (double)row->latency,
            row->outcome == RIGHT ? "true" : "false", requests[row->request].name.bytes, WORDS[row->outcome]);
        if (row->outcome == WRONG_STATUS) fprintf(out, " %d", row->status);
        fprintf(out, ",%.9f,%.9f\n", 1e-9 * (double)from_sending, 1e-9 * (double)row->own);
    }
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    FILE *out = opened(opt.rows, "wb"), *totals = opened(opt.totals, "wb");
    prepare();
    make_way();
    run();
    give_up(UINT64_MAX, now()); /* what is under way after the time of grace */
    for (; !opt.closed && due < end; next_due()) n_unsent++;
    write_rows(out);
    fprintf(totals, "{\"n_rows\": %zu, \"n_unsent\": %" PRIu64 ", \"n_late\": %" PRIu64 ", \"late_after_s\": %.9g}\n",
        n_rows, n_unsent, n_late, 1e-6 * opt.late_us);
    bool failed = ferror(out) || ferror(totals);
    if (fclose(out) || fclose(totals) || failed) fail(FAILED, "its results cannot be written: %s", strerror(errno));
    return 0;
}
