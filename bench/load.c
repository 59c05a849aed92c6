/* A load generator for HTTP/1.1: prepared requests over keep-alive connections, one at a time on each.
 *
 * load PORT FILE CONNECTIONS FIRST COUNT RATE
 *
 * FILE has requests, each after its length in four bytes (big-endian). COUNT of them are sent, beginning with number
 * FIRST and again from the start after the last. With RATE 0 a connection sends as soon as it has its answer; otherwise
 * so many are due a second, whatever the answers do, and one that finds no free connection waits. Every answer is read
 * to its end. Prints JSON. bench/load.py builds and runs it, and says what each figure means.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_AT_ONCE 65536
#define MOST_EVENTS 256
/* Requests that are due at once are sent a few at a time, so that answers are not left lying meanwhile. */
#define SENT_AT_ONCE 8
/* After the last request was due, whoever has no answer yet gets none. */
#define PATIENCE_S 2.0
/* Without a rate there is nothing due; a server that says nothing for so long has failed. */
#define SILENCE_S 20.0

typedef struct {
    int fd;
    int busy;
    double sent_s;   /* when the request left */
    double waited_s; /* how long it had waited for a connection */
    double free_s;   /* since when the connection is free */
    char *in;
    size_t have, room;
} Connection;

typedef struct {
    float *values;
    size_t count, room;
} Samples;

static struct {
    const char *data;
    size_t *offsets;
    size_t total;
} requests;

static struct {
    size_t answered, broken, statuses[600];
    double open_s, last_s;
    Samples sent_ms, due_ms, late_ms;
} result;

static int port, poller;
static Connection *connections, **idle;
static size_t idle_count, busy_count;

static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void add(Samples *samples, double seconds) {
    if (samples->count == samples->room) {
        samples->room = samples->room ? 2 * samples->room : 4096;
        samples->values = realloc(samples->values, samples->room * sizeof(float));
        if (!samples->values) die("memory");
    }
    samples->values[samples->count++] = (float)(seconds * 1000);
}

static void read_requests(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0) die(path);
    size_t size = (size_t)status.st_size;
    requests.data = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (requests.data == MAP_FAILED) die(path);
    for (int pass = 0; pass < 2; pass++) {
        size_t number = 0, at = 0;
        while (at + 4 <= size) {
            uint32_t length;
            memcpy(&length, requests.data + at, 4);
            if (pass) requests.offsets[number] = at;
            number++;
            at += 4 + ntohl(length);
        }
        if (!pass) requests.offsets = malloc((number + 1) * sizeof(size_t));
        requests.total = number;
    }
    if (!requests.total) die("there are no requests in the file");
}

static void connect_to_server(Connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) < 0) die("epoll");
    c->have = 0;
}

static void reconnect(Connection *c) {
    close(c->fd);
    connect_to_server(c);
}

static void send_on(Connection *c, size_t number, double due_s, double now_s) {
    const char *at = requests.data + requests.offsets[number];
    uint32_t left;
    memcpy(&left, at, 4);
    left = ntohl(left);
    double possible_s = due_s > c->free_s ? due_s : c->free_s;
    add(&result.late_ms, now_s > possible_s ? now_s - possible_s : 0);
    c->waited_s = possible_s - due_s;
    c->sent_s = now_s;
    c->busy = 1;
    busy_count++;
    for (at += 4; left;) {
        ssize_t sent = send(c->fd, at, left, MSG_NOSIGNAL);
        /* A connection that the server has closed is told when it is read. */
        if (sent < 0) return;
        at += sent;
        left -= (uint32_t)sent;
    }
}

/* As answer_length, of a body in chunks. */
static long chunked_length(const char *body, size_t have) {
    size_t at = 0;
    for (;;) {
        const char *end = memmem(body + at, have - at, "\r\n", 2);
        if (!end) return 0;
        size_t size = strtoul(body + at, NULL, 16);
        at = (size_t)(end - body) + 2 + size + 2;
        if (at > have) return 0;
        if (memcmp(body + at - 2, "\r\n", 2)) return -1;
        if (!size) return (long)at;
    }
}

/* Return how long a whole answer is, 0 while it is not all there, and -1 for what is no answer with an end. */
static long answer_length(const char *in, size_t have, int *status, int *closes) {
    const char *end = memmem(in, have, "\r\n\r\n", 4);
    if (!end) return 0;
    if (have < 12 || memcmp(in, "HTTP/1.1 ", 9)) return -1;
    size_t head = (size_t)(end - in) + 4;
    long length = -1;
    int chunked = 0;
    *status = atoi(in + 9);
    *closes = 0;
    for (const char *line = memchr(in, '\n', head) + 1; line < end; line = memchr(line, '\n', head) + 1) {
        if (!strncasecmp(line, "content-length:", 15)) length = atol(line + 15);
        if (!strncasecmp(line, "transfer-encoding: chunked", 26)) chunked = 1;
        if (!strncasecmp(line, "connection: close", 17)) *closes = 1;
    }
    if (*status == 204 || *status == 304) return (long)head;
    if (chunked) {
        long body = chunked_length(in + head, have - head);
        return body > 0 ? (long)head + body : body;
    }
    if (length < 0 || *status < 200 || *status > 599) return -1;
    return head + (size_t)length <= have ? (long)head + length : 0;
}

static void set_free(Connection *c, double now_s) {
    if (c->busy) {
        c->busy = 0;
        busy_count--;
        idle[idle_count++] = c;
    }
    c->free_s = now_s;
}

static void receive_on(Connection *c, double now_s) {
    if (c->room - c->have < READ_AT_ONCE) {
        c->room += READ_AT_ONCE;
        c->in = realloc(c->in, c->room);
        if (!c->in) die("memory");
    }
    ssize_t got = recv(c->fd, c->in + c->have, READ_AT_ONCE, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        if (c->busy) result.broken++;
        set_free(c, now_s);
        reconnect(c);
        return;
    }
    c->have += (size_t)got;
    int status = 0, closes = 0;
    long length = c->busy ? answer_length(c->in, c->have, &status, &closes) : -1;
    if (!length) return;
    if (length < 0 || (size_t)length != c->have) {
        fprintf(stderr, "load: not one whole answer: %.*s\n", (int)(c->have < 300 ? c->have : 300), c->in);
        exit(1);
    }
    c->have = 0;
    result.answered++;
    result.statuses[status]++;
    result.open_s += now_s - c->sent_s;
    result.last_s = now_s;
    if (status < 400) {
        add(&result.sent_ms, now_s - c->sent_s);
        add(&result.due_ms, now_s - c->sent_s + c->waited_s);
    }
    set_free(c, now_s);
    if (closes) reconnect(c);
}

static void run(size_t first, size_t count, double rate) {
    struct epoll_event events[MOST_EVENTS];
    double began_s = now(), interval_s = rate > 0 ? 1 / rate : 0;
    double last_s = began_s + (double)count * interval_s + PATIENCE_S, heard_s = began_s;
    size_t sent = 0;
    while (sent < count || busy_count) {
        double now_s = now();
        if (rate > 0 ? now_s >= last_s : now_s > heard_s + SILENCE_S) break;
        for (int some = 0; some < SENT_AT_ONCE && sent < count && idle_count; some++) {
            double due_s = rate > 0 ? began_s + (double)sent * interval_s : now_s;
            if (due_s > now_s) break;
            send_on(idle[--idle_count], (first + sent) % requests.total, due_s, now_s);
            sent++;
        }
        double wait_s = rate > 0 ? last_s - now_s : 1;
        if (sent < count && idle_count) wait_s = rate > 0 ? began_s + (double)sent * interval_s - now() : 0;
        if (wait_s < 0) wait_s = 0;
        struct timespec wait = {(time_t)wait_s, (long)((wait_s - (double)(time_t)wait_s) * 1e9)};
        int ready = epoll_pwait2(poller, events, MOST_EVENTS, &wait, NULL);
        if (ready < 0 && errno != EINTR) die("epoll");
        now_s = now();
        if (ready > 0) heard_s = now_s;
        for (int each = 0; each < ready; each++) receive_on(events[each].data.ptr, now_s);
    }
    double ended_s = rate > 0 ? began_s + (double)count * interval_s : result.last_s;
    if (rate > 0 && result.last_s > ended_s) ended_s = result.last_s;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"answered\": %zu, \"unsent\": %zu, \"unanswered\": %zu, \"broken\": %zu, \"seconds\": %f, ",
           result.answered, count - sent, busy_count, result.broken, ended_s - began_s);
    printf("\"in_flight\": %f, \"cpu_s\": %f", result.open_s / (ended_s - began_s), cpu_s);
}

static int compare(const void *one, const void *other) {
    float difference = *(const float *)one - *(const float *)other;
    return (difference > 0) - (difference < 0);
}

static void print_shares(const char *name, Samples *samples) {
    qsort(samples->values, samples->count, sizeof(float), compare);
    printf(", \"%s\": [", name);
    for (int each = 0; samples->count && each < 3; each++) {
        size_t place = samples->count * (size_t)(int[]){50, 90, 99}[each] / 100;
        printf("%s%.3f", each ? ", " : "", samples->values[place < samples->count ? place : samples->count - 1]);
    }
    printf("]");
}

int main(int count, char **given) {
    if (count != 7) {
        fprintf(stderr, "usage: load PORT FILE CONNECTIONS FIRST COUNT RATE\n");
        return 2;
    }
    port = atoi(given[1]);
    size_t number = strtoul(given[3], NULL, 10);
    read_requests(given[2]);
    poller = epoll_create1(0);
    connections = calloc(number, sizeof *connections);
    idle = calloc(number, sizeof *idle);
    if (!connections || !idle || poller < 0) die("memory");
    for (size_t each = 0; each < number; each++) {
        connect_to_server(&connections[each]);
        idle[idle_count++] = &connections[each];
    }
    run(strtoul(given[4], NULL, 10), strtoul(given[5], NULL, 10), atof(given[6]));
    print_shares("sent_ms", &result.sent_ms);
    print_shares("due_ms", &result.due_ms);
    print_shares("late_ms", &result.late_ms);
    printf(", \"statuses\": {");
    const char *comma = "";
    for (int status = 0; status < 600; status++)
        if (result.statuses[status]) {
            printf("%s\"%d\": %zu", comma, status, result.statuses[status]);
            comma = ", ";
        }
    printf("}}\n");
    return 0;
}
