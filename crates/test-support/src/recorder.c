// Preloaded into a server under test: records what becomes of the files and names in one folder, in order, and what of it has
// been synced. The test makes of the record what a power cut may leave at any moment (power_cuts.rs, which has the form of it).
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MADE = 1, FOLDER_MADE, WRITTEN, ZEROS, CUT, RENAMED, REMOVED, SYNC_BEGUN, SYNC_ENDED, LISTED };

struct record {
    uint32_t kind, path_length, bytes_length, unused;
    uint64_t file, at, number;
};

static char folder[4096];
static int record_file = -1;
// Records so far, for the test to read.
static _Atomic uint64_t *records;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("RECORD_FILE"), *count = getenv("RECORD_COUNT"), *watched = getenv("RECORD_FOLDER");
    if (!path || !count || !watched || strlen(watched) >= sizeof folder) return;
    int file = syscall(SYS_openat, AT_FDCWD, count, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return;
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map == MAP_FAILED) return;
    strcpy(folder, watched);
    record_file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    records = map;
}

static int is_watched(const char *path) {
    size_t length = strlen(folder);
    return record_file >= 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// The path of an open file, if it is watched.
static int path_of(int file, char *path) {
    char link[64];
    if (record_file < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return 0;
    path[length] = 0;
    return is_watched(path);
}

static int path_at(int where, const char *name, char *path) {
    if (record_file < 0) return 0;
    if (name[0] == '/') {
        if (strlen(name) > 4095) return 0;
        strcpy(path, name);
        return is_watched(path);
    }
    if (where == AT_FDCWD) {
        if (!getcwd(path, 2048)) return 0;
    } else if (!path_of(where, path)) {
        return 0;
    }
    strncat(path, "/", 2);
    strncat(path, name, 2000);
    return is_watched(path);
}

static uint64_t inode_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_ino : 0;
}

static void put(const void *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = syscall(SYS_write, record_file, bytes, length);
        if (written <= 0) abort();
        bytes = (const char *)bytes + written;
        length -= written;
    }
}

// Locked by the caller.
static uint64_t note(uint32_t kind, const char *path, uint64_t file, uint64_t at, uint64_t number, const void *bytes,
                     size_t length) {
    struct record record = {kind, path ? strlen(path) + 1 : 0, length, 0, file, at, number};
    put(&record, sizeof record);
    if (path) put(path, record.path_length);
    if (length) put(bytes, length);
    return atomic_fetch_add(&records[0], 1);
}

static void note_written(int file, const void *bytes, size_t length, uint64_t at) {
    static const char zeros[4096];
    const char *from = bytes;
    int is_zeros = length >= sizeof zeros;
    for (size_t done = 0; is_zeros && done < length; done += sizeof zeros) {
        size_t some = length - done < sizeof zeros ? length - done : sizeof zeros;
        is_zeros = memcmp(from + done, zeros, some) == 0;
    }
    if (is_zeros) note(ZEROS, NULL, inode_of(file), at, length, NULL, 0);
    else note(WRITTEN, NULL, inode_of(file), at, length, bytes, length);
}

static int open_noted(int where, const char *name, int flags, mode_t mode, const char *path) {
    pthread_mutex_lock(&lock);
    struct stat status;
    int is_there = lstat(path, &status) == 0;
    int file = syscall(SYS_openat, where, name, flags, mode);
    if (file >= 0 && (flags & O_CREAT) && !is_there) note(MADE, path, inode_of(file), 0, 0, NULL, 0);
    else if (file >= 0 && (flags & O_TRUNC)) note(CUT, NULL, inode_of(file), 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return file;
}

static int open_file(int where, const char *name, int flags, mode_t mode) {
    char path[8192];
    if ((flags & (O_CREAT | O_TRUNC)) && path_at(where, name, path)) return open_noted(where, name, flags, mode, path);
    return syscall(SYS_openat, where, name, flags, mode);
}

#define OPEN(name, ...)                                                                                                \
    mode_t mode = 0;                                                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

int open(const char *name, int flags, ...) {
    OPEN(name)
    return open_file(AT_FDCWD, name, flags, mode);
}
int open64(const char *name, int flags, ...) {
    OPEN(name)
    return open_file(AT_FDCWD, name, flags | O_LARGEFILE, mode);
}
int openat(int where, const char *name, int flags, ...) {
    OPEN(name)
    return open_file(where, name, flags, mode);
}
int openat64(int where, const char *name, int flags, ...) {
    OPEN(name)
    return open_file(where, name, flags | O_LARGEFILE, mode);
}

// A write to the system's memory, or past it and durable when it returns.
static ssize_t write_noted(int file, const void *bytes, size_t length, int has_place, off64_t at) {
    char path[4096];
    if (!length || !path_of(file, path))
        return has_place ? syscall(SYS_pwrite64, file, bytes, length, at) : syscall(SYS_write, file, bytes, length);
    int flags = fcntl(file, F_GETFL);
    if (flags & O_DSYNC) {
        // Not held while the disk works: what others write then is unsynced.
        pthread_mutex_lock(&lock);
        note_written(file, bytes, length, at);
        uint64_t begun = note(SYNC_BEGUN, NULL, inode_of(file), 0, 0, NULL, 0);
        pthread_mutex_unlock(&lock);
        ssize_t written = syscall(SYS_pwrite64, file, bytes, length, at);
        if (written != (ssize_t)length) abort();
        pthread_mutex_lock(&lock);
        note(SYNC_ENDED, NULL, inode_of(file), 0, begun, NULL, 0);
        pthread_mutex_unlock(&lock);
        return written;
    }
    pthread_mutex_lock(&lock);
    if (!has_place) {
        struct stat status;
        at = (flags & O_APPEND) && fstat(file, &status) == 0 ? status.st_size : lseek64(file, 0, SEEK_CUR);
    }
    ssize_t written =
        has_place ? syscall(SYS_pwrite64, file, bytes, length, at) : syscall(SYS_write, file, bytes, length);
    if (written > 0) note_written(file, bytes, written, at);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t write(int file, const void *bytes, size_t length) { return write_noted(file, bytes, length, 0, 0); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    return write_noted(file, bytes, length, 1, at);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) { return write_noted(file, bytes, length, 1, at); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    char path[4096];
    if (!path_of(file, path)) return syscall(SYS_writev, file, parts, count);
    // A part alone, which a writer has to expect.
    for (int at = 0; at < count; at++)
        if (parts[at].iov_len) return write_noted(file, parts[at].iov_base, parts[at].iov_len, 0, 0);
    return 0;
}

static int cut(int file, off64_t length) {
    char path[4096];
    int watched = path_of(file, path);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_ftruncate, file, length);
    if (result == 0 && watched) note(CUT, NULL, inode_of(file), length, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int ftruncate(int file, off_t length) { return cut(file, length); }
int ftruncate64(int file, off64_t length) { return cut(file, length); }

// What is in a folder: some libraries make their calls without the C library, and rename files so.
static void note_list(const char *path) {
    static char list[1 << 20];
    size_t length = 0;
    DIR *names = opendir(path);
    if (!names) return;
    for (struct dirent *entry; (entry = readdir(names));) {
        size_t name = strlen(entry->d_name) + 1;
        if (entry->d_type != DT_REG || length + sizeof(uint64_t) + name > sizeof list) continue;
        uint64_t inode = entry->d_ino;
        memcpy(list + length, &inode, sizeof inode);
        memcpy(list + length + sizeof inode, entry->d_name, name);
        length += sizeof inode + name;
    }
    closedir(names);
    note(LISTED, path, 0, 0, 0, list, length);
}

// What is synced is a file, the names in a folder, or all there is.
enum { A_FILE, A_FOLDER, ALL };

static int sync_noted(int file, long call) {
    char path[4096];
    if (!path_of(file, path)) return syscall(call, file);
    pthread_mutex_lock(&lock);
    struct stat status;
    int is_folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
    int what = call == SYS_syncfs ? ALL : is_folder ? A_FOLDER : A_FILE;
    uint64_t begun = note(SYNC_BEGUN, path, inode_of(file), what, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    int result = syscall(call, file);
    pthread_mutex_lock(&lock);
    if (result == 0) note(SYNC_ENDED, NULL, inode_of(file), 0, begun, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int fsync(int file) { return sync_noted(file, SYS_fsync); }
int fdatasync(int file) { return sync_noted(file, SYS_fdatasync); }
int syncfs(int file) { return sync_noted(file, SYS_syncfs); }

static int rename_noted(int from_where, const char *from, int to_where, const char *to) {
    char old[8192], new[8192];
    int watched = path_at(from_where, from, old) && path_at(to_where, to, new);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_renameat2, from_where, from, to_where, to, 0);
    if (result == 0 && watched) note(RENAMED, old, 0, 0, 0, new, strlen(new) + 1);
    pthread_mutex_unlock(&lock);
    return result;
}
int rename(const char *from, const char *to) { return rename_noted(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_where, const char *from, int to_where, const char *to) {
    return rename_noted(from_where, from, to_where, to);
}

// A file has one name in the record. Who links files makes do without where a file system has no links.
int link(const char *from, const char *to) {
    (void)from, (void)to;
    errno = EPERM;
    return -1;
}
int linkat(int from_where, const char *from, int to_where, const char *to, int flags) {
    (void)from_where, (void)from, (void)to_where, (void)to, (void)flags;
    errno = EPERM;
    return -1;
}

static int remove_noted(int where, const char *name, int flags) {
    char path[8192];
    int watched = path_at(where, name, path);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_unlinkat, where, name, flags);
    if (result == 0 && watched) note(REMOVED, path, 0, 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int unlink(const char *name) { return remove_noted(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return remove_noted(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int where, const char *name, int flags) { return remove_noted(where, name, flags); }

static int make_folder(int where, const char *name, mode_t mode) {
    char path[8192];
    int watched = path_at(where, name, path);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_mkdirat, where, name, mode);
    if (result == 0 && watched) note(FOLDER_MADE, path, 0, 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int mkdir(const char *name, mode_t mode) { return make_folder(AT_FDCWD, name, mode); }
int mkdirat(int where, const char *name, mode_t mode) { return make_folder(where, name, mode); }
