/* A completions server whose timing is known: every answer's first token comes TTFT after its
 * request was read, every further one ITL after the one before, against absolute deadlines.
 *
 *   known_timing PORT TTFT_US ITL_US TOKENS [BUSY]
 *
 * PORT 0 picks a free one; the port is printed on a line of its own. Requests: POST to any path that
 * ends in "completions" (streamed, as chat where the path holds "chat"; "max_tokens" of the body
 * overrides TOKENS), GET /health, /v1/models, /version, /stats (what was really sent, in ms) and /reset.
 * BUSY 1 polls without sleeping while answers are open: exact to microseconds, at a core's cost.
 *
 * One thread and one epoll. All answers share TTFT and ITL, so two FIFO queues hold them in the
 * order of their deadlines. A peer that does not read is dropped rather than waited for.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 512, BURST = 128, HEAD_LIMIT = 64 * 1024 };

typedef struct Peer {
    int fd, prompt, asked, left;
    bool chat, closed, answering;
    int64_t asked_ns, due_ns, sent_ns;
    char *buffer;
    size_t used, size;
    struct Peer *next;
} Peer;

typedef struct { Peer *first, *last; } Queue;
typedef struct { double *values; size_t count, size; double sum; } Series;
typedef struct { char text[1024]; size_t length; } Chunk;

#define COMPLETION(finish) \
    "{\"id\":\"cmpl-00000000000000000000000000000000\",\"object\":\"text_completion\",\"created\":1700000000," \
    "\"model\":\"known-timing\",\"choices\":[{\"index\":0,\"text\":\" word\",\"logprobs\":null," \
    "\"finish_reason\":" finish ",\"stop_reason\":null}],\"usage\":null}"
#define CHAT(finish) \
    "{\"id\":\"chatcmpl-000000000000000000000000000000\",\"object\":\"chat.completion.chunk\",\"created\":1700000000," \
    "\"model\":\"known-timing\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null," \
    "\"finish_reason\":" finish "}],\"usage\":null}"

static Queue first_tokens, next_tokens;
static Series ttft_ms, itl_ms, late_ms;
static Chunk completion_chunk, completion_end, chat_chunk, chat_end;
static int64_t ttft_ns, itl_ns;
static int default_tokens, epoll_fd;
static bool busy;
static long requests, chunks, dropped, open_answers, peak_answers;
static char reply[8192];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void enqueue(Queue *queue, Peer *peer) {
    peer->next = NULL;
    if (queue->last) queue->last->next = peer; else queue->first = peer;
    queue->last = peer;
}

static Peer *dequeue(Queue *queue) {
    Peer *peer = queue->first;
    queue->first = peer->next;
    if (!queue->first) queue->last = NULL;
    return peer;
}

static void record(Series *series, double value) {
    if (series->count == series->size) {
        series->size = series->size ? series->size * 2 : 1 << 16;
        series->values = realloc(series->values, series->size * sizeof(double));
        if (!series->values) fail("realloc");
    }
    series->values[series->count++] = value;
    series->sum += value;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Mean, median and 99th percentile (nearest rank) as JSON; sorting is left to whoever asks. */
static size_t describe(char *out, size_t room, const char *name, Series *series) {
    size_t n = series->count;
    if (!n) return snprintf(out, room, "\"%s\":null", name);
    qsort(series->values, n, sizeof(double), compare);
    return snprintf(out, room, "\"%s\":{\"n\":%zu,\"mean\":%.6f,\"p50\":%.6f,\"p99\":%.6f,\"max\":%.6f}", name, n,
                    series->sum / n, series->values[n / 2], series->values[(size_t)(0.99 * (n - 1))],
                    series->values[n - 1]);
}

static void hang_up(Peer *peer) {
    if (peer->closed) return;
    peer->closed = true;
    close(peer->fd);
    free(peer->buffer);
    peer->buffer = NULL;
    /* An answer in a queue still points here; whoever takes it from there frees it. */
    if (!peer->answering) free(peer);
}

static bool put(Peer *peer, const char *data, size_t length) {
    while (length) {
        ssize_t sent = send(peer->fd, data, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) {
            dropped++;
            return false;
        }
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

static void add_chunk(Chunk *chunk, const char *json) {
    char event[900];
    int length = snprintf(event, sizeof event, "data: %s\n\n", json);
    chunk->length = (size_t)snprintf(chunk->text, sizeof chunk->text, "%x\r\n%s\r\n", length, event);
}

static bool answer_json(Peer *peer, const char *status, const char *json) {
    int length = snprintf(reply, sizeof reply,
                          "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          status, strlen(json), json);
    return put(peer, reply, (size_t)length);
}

static bool answer_stats(Peer *peer) {
    static char json[4096];
    size_t at = (size_t)snprintf(json, sizeof json,
                                 "{\"requests\":%ld,\"chunks\":%ld,\"dropped\":%ld,\"peak\":%ld,", requests, chunks,
                                 dropped, peak_answers);
    at += describe(json + at, sizeof json - at, "ttft_ms", &ttft_ms);
    json[at++] = ',';
    at += describe(json + at, sizeof json - at, "itl_ms", &itl_ms);
    json[at++] = ',';
    at += describe(json + at, sizeof json - at, "late_ms", &late_ms);
    snprintf(json + at, sizeof json - at, "}");
    return answer_json(peer, "200 OK", json);
}

static void reset(void) {
    ttft_ms.count = itl_ms.count = late_ms.count = 0;
    ttft_ms.sum = itl_ms.sum = late_ms.sum = 0;
    requests = chunks = dropped = 0;
    peak_answers = open_answers;
}

/* Tokens of the prompt: ids of a list, else one for each word of a text. */
static int count_prompt(const char *body) {
    const char *at = strstr(body, "\"prompt\":");
    if (!at) return 1;
    at += strlen("\"prompt\":");
    at += strspn(at, " ");
    bool list = *at == '[';
    int count = 1;
    for (at++; *at && *at != (list ? ']' : '"'); at++) count += *at == (list ? ',' : ' ');
    return count;
}

static bool start_answer(Peer *peer, bool chat, const char *body, int64_t now) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    const char *asked = strstr(body, "\"max_tokens\"");
    int tokens = asked ? atoi(asked + strcspn(asked, ":") + 1) : default_tokens;
    peer->left = peer->asked = tokens > 0 ? tokens : default_tokens;
    peer->prompt = count_prompt(body);
    peer->chat = chat;
    peer->asked_ns = now;
    peer->due_ns = now + ttft_ns;
    peer->sent_ns = 0;
    peer->answering = true;
    requests++;
    if (++open_answers > peak_answers) peak_answers = open_answers;
    enqueue(&first_tokens, peer);
    return put(peer, head, sizeof head - 1);
}

/* Serve one whole request; false where the peer is gone. */
static bool serve(Peer *peer, const char *line, const char *body, int64_t now) {
    const char *path = strchr(line, ' ');
    if (!path) return false;
    path++;
    /* Some clients try other paths first (POST /tokenize); an answer there would count as a load. */
    size_t length = strcspn(path, "? ");
    static const char suffix[] = "completions";
    size_t tail = sizeof suffix - 1;
    if (!strncmp(line, "POST ", 5) && length >= tail && !strncmp(path + length - tail, suffix, tail))
        return start_answer(peer, strstr(path, "chat") != NULL, body, now);
    if (!strncmp(path, "/stats", 6)) return answer_stats(peer);
    if (!strncmp(path, "/reset", 6)) {
        reset();
        return answer_json(peer, "200 OK", "{}");
    }
    if (!strncmp(path, "/v1/models", 10))
        return answer_json(peer, "200 OK",
                           "{\"object\":\"list\",\"data\":[{\"id\":\"known-timing\",\"object\":\"model\","
                           "\"created\":1,\"owned_by\":\"gauntlet\",\"max_model_len\":1048576}]}");
    if (!strncmp(path, "/version", 8)) return answer_json(peer, "200 OK", "{\"version\":\"known-timing\"}");
    if (!strncmp(path, "/health", 7)) return answer_json(peer, "200 OK", "{}");
    return answer_json(peer, "404 Not Found", "{\"error\":{\"message\":\"no such path\"}}");
}

static void receive(Peer *peer) {
    if (peer->size - peer->used < HEAD_LIMIT) {
        peer->size = peer->size * 2 + 2 * HEAD_LIMIT;
        peer->buffer = realloc(peer->buffer, peer->size + 1);
        if (!peer->buffer) fail("realloc");
    }
    ssize_t got = recv(peer->fd, peer->buffer + peer->used, peer->size - peer->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        hang_up(peer);
        return;
    }
    int64_t now = now_ns();
    peer->used += (size_t)got;
    for (;;) {
        peer->buffer[peer->used] = 0;
        char *end = strstr(peer->buffer, "\r\n\r\n");
        if (!end) return;
        *end = 0;
        char *field = strcasestr(peer->buffer, "\ncontent-length:");
        size_t whole = (size_t)(end - peer->buffer) + 4 + (field ? strtoul(field + 16, NULL, 10) : 0);
        if (peer->used < whole) {
            *end = '\r';
            return;
        }
        char kept = peer->buffer[whole];
        peer->buffer[whole] = 0;
        bool alive = serve(peer, peer->buffer, end + 4, now);
        if (!alive) {
            hang_up(peer);
            return;
        }
        peer->buffer[whole] = kept;
        memmove(peer->buffer, peer->buffer + whole, peer->used - whole);
        peer->used -= whole;
        if (!peer->used) return;
    }
}

/* The last token, the token counts and the end of the response in one write. */
static bool end_answer(Peer *peer, const Chunk *token) {
    static Chunk extra;
    char usage[300];
    size_t at = token->length;
    memcpy(reply, token->text, at);
    snprintf(usage, sizeof usage,
             "{\"id\":\"known-timing\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}",
             peer->prompt, peer->asked);
    const char *events[] = {usage, "[DONE]"};
    for (int i = 0; i < 2; i++) {
        add_chunk(&extra, events[i]);
        memcpy(reply + at, extra.text, extra.length);
        at += extra.length;
    }
    memcpy(reply + at, "0\r\n\r\n", 5);
    return put(peer, reply, at + 5);
}

/* Send the token that is due, and queue the next one. */
static void emit(Peer *peer) {
    if (peer->closed) {
        open_answers--;
        free(peer);
        return;
    }
    int64_t now = now_ns();
    if (peer->sent_ns) record(&itl_ms, (double)(now - peer->sent_ns) / 1e6);
    else record(&ttft_ms, (double)(now - peer->asked_ns) / 1e6);
    record(&late_ms, (double)(now - peer->due_ns) / 1e6);
    peer->sent_ns = now;
    chunks++;
    bool last = --peer->left == 0;
    const Chunk *chunk = peer->chat ? (last ? &chat_end : &chat_chunk) : last ? &completion_end : &completion_chunk;
    bool alive = last ? end_answer(peer, chunk) : put(peer, chunk->text, chunk->length);
    if (last || !alive) {
        peer->answering = false;
        open_answers--;
        if (!alive) hang_up(peer);
        return;
    }
    peer->due_ns += itl_ns;
    enqueue(&next_tokens, peer);
}

static void accept_all(int listener) {
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        Peer *peer = calloc(1, sizeof *peer);
        if (!peer) fail("calloc");
        peer->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
    }
}

static int listen_on(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 8192)) fail("listen");
    if (getsockname(listener, (void *)&address, &length)) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void send_due(void) {
    int64_t now = now_ns();
    while (first_tokens.first && first_tokens.first->due_ns <= now) emit(dequeue(&first_tokens));
    /* A bounded burst: a request that arrives now must be read now, or its clock starts late. */
    for (int i = 0; i < BURST && next_tokens.first && next_tokens.first->due_ns <= now; i++)
        emit(dequeue(&next_tokens));
}

static struct timespec *time_left(struct timespec *left) {
    if (!first_tokens.first && !next_tokens.first) return NULL;
    int64_t due = INT64_MAX;
    if (first_tokens.first) due = first_tokens.first->due_ns;
    if (next_tokens.first && next_tokens.first->due_ns < due) due = next_tokens.first->due_ns;
    due -= now_ns();
    if (busy || due < 0) due = 0;
    left->tv_sec = due / 1000000000LL;
    left->tv_nsec = due % 1000000000LL;
    return left;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s PORT TTFT_US ITL_US TOKENS [BUSY]\n", argv[0]);
        return 2;
    }
    ttft_ns = atoll(argv[2]) * 1000;
    itl_ns = atoll(argv[3]) * 1000;
    default_tokens = atoi(argv[4]);
    busy = argc > 5 && atoi(argv[5]);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* the default lets every sleep run 50 us over */
    add_chunk(&completion_chunk, COMPLETION("null"));
    add_chunk(&completion_end, COMPLETION("\"length\""));
    add_chunk(&chat_chunk, CHAT("null"));
    add_chunk(&chat_end, CHAT("\"length\""));
    int listener = listen_on(atoi(argv[1]));
    if ((epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[MAX_EVENTS];
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
    for (;;) {
        struct timespec left;
        send_due();
        int count = epoll_pwait2(epoll_fd, events, MAX_EVENTS, time_left(&left), NULL);
        if (count < 0 && errno != EINTR) fail("epoll_pwait2");
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr) receive(events[i].data.ptr);
            else accept_all(listener);
        }
    }
}
