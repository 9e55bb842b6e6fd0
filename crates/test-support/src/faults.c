// Preloaded into a server under test: lets writes and syncs of the files in one folder fail, wait or stop half way, and
// moves the wall clock. What it does is in a file of 64-bit numbers that the test writes and reads (faults.rs).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SYNC_ERROR,
    SYNC_DELAY_US,
    SYNC_HELD,
    WRITE_ERROR,
    WRITE_BYTES_LEFT,
    WRITE_BYTES_MAX,
    CLOCK_OFFSET_S,
    SYNCS_BEGUN,
    SYNCS_ENDED,
    FAILURES,
    LOG_INODE,
    LOG_BYTES_SYNCED,
    LOG_ONLY,
};

static _Atomic uint64_t *control;
static char folder[4096];

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("FAULTS_CONTROL"), *watched = getenv("FAULTS_FOLDER");
    if (!path || !watched || strlen(watched) >= sizeof folder) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED) return;
    strcpy(folder, watched);
    control = map;
}

static uint64_t get(int at) { return atomic_load(&control[at]); }

// 0: not watched, 1: a file of the folder, 2: a log file.
static int kind_of(int file) {
    if (!control) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder)) != 0) return 0;
    if (length > 5 && strcmp(path + length - 5, ".redo") == 0) return 2;
    return get(LOG_ONLY) ? 0 : 1;
}

static void pause_us(uint64_t micros) {
    struct timespec time = {.tv_sec = micros / 1000000, .tv_nsec = micros % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static int fail(int error) {
    atomic_fetch_add(&control[FAILURES], 1);
    errno = error;
    return -1;
}

static uint64_t inode_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_ino : 0;
}

// The log file that has got records last, and where the last one ends.
static _Atomic uint64_t log_inode, log_end;

static void begin_sync(void) {
    atomic_fetch_add(&control[SYNCS_BEGUN], 1);
    while (get(SYNC_HELD)) pause_us(500);
    if (get(SYNC_DELAY_US)) pause_us(get(SYNC_DELAY_US));
}

static int sync_file(int file, const char *name) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int kind = kind_of(file);
    if (!kind) return next(file);
    begin_sync();
    uint64_t end = log_end;
    int result = get(SYNC_ERROR) ? fail((int)get(SYNC_ERROR)) : next(file);
    if (result == 0 && kind == 2 && inode_of(file) == log_inode) {
        atomic_store(&control[LOG_INODE], log_inode);
        atomic_store(&control[LOG_BYTES_SYNCED], end);
    }
    atomic_fetch_add(&control[SYNCS_ENDED], 1);
    return result;
}

int fsync(int file) { return sync_file(file, "fsync"); }

int fdatasync(int file) { return sync_file(file, "fdatasync"); }

// How much of a write to a watched file is done, or -1 with errno set.
static ssize_t permitted(size_t length) {
    if (get(WRITE_ERROR)) {
        uint64_t left = get(WRITE_BYTES_LEFT);
        if (left == 0) return fail((int)get(WRITE_ERROR));
        if (length > left) length = left;
        atomic_fetch_sub(&control[WRITE_BYTES_LEFT], length);
    }
    if (get(WRITE_BYTES_MAX) && length > get(WRITE_BYTES_MAX)) length = get(WRITE_BYTES_MAX);
    return (ssize_t)length;
}

ssize_t write(int file, const void *bytes, size_t length) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (length && kind_of(file)) {
        ssize_t some = permitted(length);
        if (some < 0) return some;
        length = (size_t)some;
    }
    return next(file, bytes, length);
}

typedef ssize_t (*pwrite_call)(int, const void *, size_t, off64_t);

// A write of whole blocks past the system's memory that is durable when it returns: a write and a sync.
static ssize_t write_blocks(pwrite_call next, int file, const void *bytes, size_t length, off64_t at) {
    enum { BLOCK = 512 };
    begin_sync();
    ssize_t written = permitted(length);
    if (written >= 0 && (size_t)written < length) {
        // What is left has to begin at a block, too.
        written = written / BLOCK * BLOCK;
        if (written == 0) written = get(WRITE_ERROR) ? fail((int)get(WRITE_ERROR)) : BLOCK;
    }
    if (written > 0 && get(SYNC_ERROR)) written = fail((int)get(SYNC_ERROR));
    if (written > 0) written = next(file, bytes, (size_t)written, at);
    if (written > 0) {
        log_inode = inode_of(file);
        log_end = (uint64_t)at + (uint64_t)written;
        atomic_store(&control[LOG_INODE], log_inode);
        atomic_store(&control[LOG_BYTES_SYNCED], log_end);
    }
    atomic_fetch_add(&control[SYNCS_ENDED], 1);
    return written;
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    static pwrite_call next;
    if (!next) next = (pwrite_call)dlsym(RTLD_NEXT, "pwrite64");
    int kind = length ? kind_of(file) : 0;
    if (kind == 2 && (fcntl(file, F_GETFL) & O_DSYNC)) return write_blocks(next, file, bytes, length, at);
    if (kind) {
        ssize_t some = permitted(length);
        if (some < 0) return some;
        length = (size_t)some;
    }
    ssize_t written = next(file, bytes, length, at);
    // A record begins with its length; nothing but zeros is what a new file is filled with. What a write that was cut
    // short leaves to be written may begin with zeros, too, but not at the file's beginning.
    static const char zeros[12];
    if (kind == 2 && written > 0 && (length < sizeof zeros || memcmp(bytes, zeros, sizeof zeros) != 0)) {
        log_inode = inode_of(file);
        log_end = (uint64_t)at + (uint64_t)written;
    }
    return written;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    if (result == 0 && control && clock == CLOCK_REALTIME) time->tv_sec += (int64_t)get(CLOCK_OFFSET_S);
    return result;
}
