// Fails chosen file operations of the process that preloads it (LD_PRELOAD), and can drop what was not
// synced. It replaces the functions that Rust's standard library and SQLite call.
//
// FAULTS_ROOT is the folder below which operations are counted, FAULTS_CONTROL a file that the test and this
// library share: rules in, counters and a trace out. `e2e/src/faults.rs` has the same layout.
//
// Durability is modelled here: an undo log holds what a power failure may lose, an fsync drops it from there,
// and no real fsync is made. Data needs an fsync of its file, a name one of its folder. A removal is never
// undone.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    OPEN = 1,
    CREATE = 2,
    MAKE_FOLDER = 4,
    READ = 8,
    WRITE = 16,
    SYNC = 32,
    RENAME = 64,
    TRUNCATE = 128,
    REMOVE = 256,
};

// An action is an errno and flags.
enum {
    ERRNO = 0xffff,
    SHORT = 1 << 16,         // the first call writes half
    LOSE_UNSYNCED = 1 << 17, // the failing fsync drops what was not synced
    POWER_FAILURE = 1 << 18,
};

// Counts runs of calls with one operation on one path, since the length of a run may vary. The `call`th of
// the `run`th run fails, and all after it if the rule is lasting.
struct rule {
    uint64_t operations, run, call, is_lasting, action;
    uint64_t runs, calls, previous, first_hit; // the last two are numbers in the trace, from 1
    char path[88]; // the end of the path
};

struct record {
    uint64_t operation;
    char path[120];
};

enum { RULES = 2, RECORDS = 4096 };

struct control {
    struct rule rules[RULES];
    uint64_t recorded;
    struct record records[RECORDS];
};

struct change {
    struct change *older;
    enum { DATA, NAME, FOLDER, MOVED } kind;
    dev_t device;
    ino_t inode;
    char path[512], from[512];
    off_t size, offset; // DATA: the size before, and where `bytes` were
    size_t length;
    char *bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct control *control;
static struct change *changes;
static char root[PATH_MAX];

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int real_open(const char *path, int flags, mode_t mode) {
    REAL(int, "open64", const char *, int, ...);
    return real(path, flags, mode);
}

static ssize_t real_pread(int fd, void *bytes, size_t length, off_t offset) {
    REAL(ssize_t, "pread64", int, void *, size_t, off_t);
    return real(fd, bytes, length, offset);
}

static ssize_t real_pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    return real(fd, bytes, length, offset);
}

static int real_ftruncate(int fd, off_t size) {
    REAL(int, "ftruncate64", int, off_t);
    return real(fd, size);
}

static int real_rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return real(from, to);
}

static int real_unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    return real(folder, path, flags);
}

static void check(int is_ok, const char *what) {
    if (is_ok) return;
    fprintf(stderr, "faults.c: %s: %s\n", what, strerror(errno));
    abort();
}

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("FAULTS_ROOT"), *path = getenv("FAULTS_CONTROL");
    if (!folder || !path) return;
    int fd = real_open(path, O_RDWR | O_CLOEXEC, 0);
    check(fd >= 0, path);
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(control != MAP_FAILED, "mmap");
    close(fd);
    snprintf(root, sizeof root, "%s", folder);
}

static int is_below_root(const char *path) {
    size_t length = strlen(root);
    return control && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

// The path of an open file or folder below the root.
static int path_of(int fd, char *path) {
    struct stat status;
    if (!control || fstat(fd, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below_root(path);
}

// The absolute path of `name` in `folder`.
static int path_at(int folder, const char *name, char *path) {
    if (!control) return 0;
    char parent[PATH_MAX];
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else if (folder == AT_FDCWD || !path_of(folder, parent)
               || snprintf(path, PATH_MAX, "%s/%s", parent, name) >= PATH_MAX) {
        return 0;
    }
    return is_below_root(path);
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), rest = strlen(end);
    return length >= rest && !strcmp(text + length - rest, end);
}

// Counts the operation, and returns what is to happen instead of it, or 0.
static int decide(int operation, const char *path) {
    const char *below = path + strlen(root) + (path[strlen(root)] == '/');
    // Atomic, since the test may reset it meanwhile.
    uint64_t number = __atomic_add_fetch(&control->recorded, 1, __ATOMIC_SEQ_CST);
    struct record *record = &control->records[(number - 1) % RECORDS];
    record->operation = operation;
    snprintf(record->path, sizeof record->path, "%s", below);
    int action = 0;
    for (struct rule *rule = control->rules; rule < control->rules + RULES; rule++) {
        if (!(rule->operations & operation) || !ends_with(below, rule->path)) continue;
        struct record *previous = &control->records[(rule->previous - 1) % RECORDS];
        int is_same_run = rule->previous && previous->operation == record->operation
                          && !strcmp(previous->path, record->path);
        rule->calls = is_same_run ? rule->calls + 1 : 1;
        rule->runs += !is_same_run;
        rule->previous = number;
        int is_first = rule->runs == rule->run && rule->calls == rule->call;
        int is_hit = rule->first_hit ? rule->is_lasting != 0 : is_first;
        if (action || !is_hit) continue;
        // Only the first match is short, and only if it is a write: what follows it fails.
        int is_short = rule->action & SHORT && !rule->first_hit && operation == WRITE;
        action = is_short ? SHORT : (int)rule->action & ~SHORT;
        if (!rule->first_hit) rule->first_hit = number;
    }
    return action;
}

static struct change *remember(int kind, const char *path, const struct stat *status) {
    struct change *change = calloc(1, sizeof *change);
    check(change != NULL, "calloc");
    snprintf(change->path, sizeof change->path, "%s", path);
    change->kind = kind;
    change->device = status->st_dev;
    change->inode = status->st_ino;
    change->older = changes;
    return changes = change;
}

// Records the `length` bytes at `offset`, before they are overwritten or cut off.
static void remember_data(int fd, const char *path, off_t offset, size_t length) {
    struct stat status;
    check(!fstat(fd, &status), "fstat");
    // An unlinked file is lost anyway, and SQLite rebuilds the index of its log.
    if (!status.st_nlink || ends_with(path, "-shm")) return;
    struct change *change = remember(DATA, path, &status);
    change->size = status.st_size;
    change->offset = offset;
    // What is opened for writing only is new, or is the reserve, whose bytes have no meaning.
    if (offset < status.st_size && length && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR) {
        off_t rest = status.st_size - offset;
        change->length = (off_t)length < rest ? length : (size_t)rest;
        change->bytes = malloc(change->length);
        check(change->bytes != NULL, "malloc");
        check(real_pread(fd, change->bytes, change->length, offset) == (ssize_t)change->length, "pread");
    }
}

static void undo_data(const struct change *change, int fd) {
    ssize_t written = real_pwrite(fd, change->bytes, change->length, change->offset);
    check(written == (ssize_t)change->length && !real_ftruncate(fd, change->size), "undo");
}

// The older changes below `from` are found below `to` now.
static void relabel(const char *before, const char *to) {
    char from[PATH_MAX];
    size_t length = snprintf(from, sizeof from, "%s", before);
    for (struct change *change = changes; change; change = change->older) {
        char *rest = change->path + length, moved[sizeof change->path];
        if (strncmp(change->path, from, length) || (*rest && *rest != '/')) continue;
        snprintf(moved, sizeof moved, "%s%s", to, rest);
        memcpy(change->path, moved, sizeof moved);
    }
}

static void undo_name(const struct change *change) {
    struct stat status;
    if (lstat(change->path, &status)) return;
    if (status.st_dev != change->device || status.st_ino != change->inode) return;
    if (change->kind == MOVED) {
        if (!real_rename(change->path, change->from)) relabel(change->path, change->from);
    } else {
        real_unlinkat(AT_FDCWD, change->path, change->kind == FOLDER ? AT_REMOVEDIR : 0);
    }
}

static int is_data_of(const struct change *change, const struct stat *file) {
    return change->kind == DATA && change->device == file->st_dev && change->inode == file->st_ino;
}

static void drop(struct change **link) {
    struct change *change = *link;
    *link = change->older;
    free(change->bytes);
    free(change);
}

// Drops the data of a removed file: a new file or folder may get its inode.
static void forget_data(const struct stat *removed) {
    for (struct change **next = &changes; *next;) {
        if (is_data_of(*next, removed)) drop(next);
        else next = &(*next)->older;
    }
}

static int is_covered(const struct change *change, const char *path, const struct stat *synced) {
    if (change->kind == DATA) return is_data_of(change, synced);
    const char *name = strrchr(change->path, '/');
    return S_ISDIR(synced->st_mode) && strlen(path) == (size_t)(name - change->path)
           && !strncmp(change->path, path, name - change->path);
}

// Drops from the log what an fsync of `fd` makes durable, or undoes it if that fsync fails.
static void settle(int fd, const char *path, int is_lost) {
    struct stat status;
    check(!fstat(fd, &status), "fstat");
    for (struct change **next = &changes; *next;) {
        struct change *change = *next;
        if (!is_covered(change, path, &status)) {
            next = &change->older;
            continue;
        }
        if (is_lost && change->kind == DATA) undo_data(change, fd);
        if (is_lost && change->kind != DATA) undo_name(change);
        drop(next);
    }
}

static void fail_power(void) {
    for (struct change *change = changes; change; change = change->older) {
        if (change->kind != DATA) {
            undo_name(change);
            continue;
        }
        int fd = real_open(change->path, O_RDWR | O_CLOEXEC, 0);
        struct stat status;
        if (fd >= 0 && !fstat(fd, &status) && status.st_ino == change->inode) undo_data(change, fd);
        if (fd >= 0) close(fd);
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Begins an operation with the lock held. Returns whether it fails; then `errno` is set.
static int fails(int operation, const char *path, int *action) {
    pthread_mutex_lock(&mutex);
    *action = decide(operation, path);
    if (*action & POWER_FAILURE) fail_power();
    if (!(*action & ERRNO)) return 0;
    errno = *action & ERRNO;
    return 1;
}

static int unlock(int result) {
    int saved = errno;
    pthread_mutex_unlock(&mutex);
    errno = saved;
    return result;
}

static int open_at(int folder, const char *name, int flags, mode_t mode) {
    REAL(int, "openat64", int, const char *, int, ...);
    char path[PATH_MAX];
    struct stat status;
    int action;
    if (!path_at(folder, name, path)) return real(folder, name, flags, mode);
    int is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    int is_new = is_unnamed || (flags & O_CREAT && lstat(path, &status));
    if (fails(is_new ? CREATE : OPEN, path, &action)) return unlock(-1);
    int fd = real(folder, name, flags, mode);
    if (fd >= 0 && is_new && !is_unnamed && !fstat(fd, &status)) remember(NAME, path, &status);
    return unlock(fd);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }

int mkdirat(int folder, const char *name, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    char path[PATH_MAX];
    struct stat status;
    int action;
    if (!path_at(folder, name, path)) return real(folder, name, mode);
    if (fails(MAKE_FOLDER, path, &action)) return unlock(-1);
    int result = real(folder, name, mode);
    if (!result && !lstat(path, &status)) remember(FOLDER, path, &status);
    return unlock(result);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

ssize_t read(int fd, void *bytes, size_t length) {
    REAL(ssize_t, "read", int, void *, size_t);
    char path[PATH_MAX];
    int action;
    if (!path_of(fd, path)) return real(fd, bytes, length);
    if (fails(READ, path, &action)) return unlock(-1);
    unlock(0);
    return real(fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off_t offset) {
    char path[PATH_MAX];
    int action;
    if (!path_of(fd, path)) return real_pread(fd, bytes, length, offset);
    if (fails(READ, path, &action)) return unlock(-1);
    unlock(0);
    return real_pread(fd, bytes, length, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return pread64(fd, bytes, length, offset); }

// A write at the current position has the offset -1.
static ssize_t write_at(int fd, const char *path, const void *bytes, size_t length, off_t offset) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int action;
    if (fails(WRITE, path, &action)) return unlock(-1);
    if (action & SHORT && length > 1) length /= 2;
    off_t position = offset >= 0 ? offset : lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    remember_data(fd, path, position, length);
    ssize_t written = offset >= 0 ? real_pwrite(fd, bytes, length, offset) : real(fd, bytes, length);
    unlock(0);
    return written;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, "write", int, const void *, size_t);
    char path[PATH_MAX];
    return path_of(fd, path) ? write_at(fd, path, bytes, length, -1) : real(fd, bytes, length);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return real_pwrite(fd, bytes, length, offset);
    return write_at(fd, path, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }

// A vectored write to a file writes its first buffer: the caller goes on with the rest.
ssize_t writev(int fd, const struct iovec *buffers, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char path[PATH_MAX];
    if (count < 1 || !path_of(fd, path)) return real(fd, buffers, count);
    return write_at(fd, path, buffers[0].iov_base, buffers[0].iov_len, -1);
}

static int sync_file(int fd, const char *path) {
    int action;
    int has_failed = fails(SYNC, path, &action);
    if (!has_failed || action & LOSE_UNSYNCED) {
        int saved = errno;
        settle(fd, path, has_failed);
        errno = saved;
    }
    return unlock(has_failed ? -1 : 0);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    char path[PATH_MAX];
    return path_of(fd, path) ? sync_file(fd, path) : real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    char path[PATH_MAX];
    return path_of(fd, path) ? sync_file(fd, path) : real(fd);
}

int ftruncate64(int fd, off_t size) {
    char path[PATH_MAX];
    int action;
    if (!path_of(fd, path)) return real_ftruncate(fd, size);
    if (fails(TRUNCATE, path, &action)) return unlock(-1);
    remember_data(fd, path, size, SSIZE_MAX);
    return unlock(real_ftruncate(fd, size));
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int rename(const char *from, const char *to) {
    struct stat status;
    int action;
    if (!is_below_root(to)) return real_rename(from, to);
    if (fails(RENAME, to, &action)) return unlock(-1);
    struct stat replaced;
    int is_replacement = !lstat(to, &replaced) && replaced.st_nlink == 1;
    int result = real_rename(from, to);
    if (!result && !lstat(to, &status)) {
        if (is_replacement && replaced.st_ino != status.st_ino) forget_data(&replaced);
        relabel(from, to);
        struct change *change = remember(MOVED, to, &status);
        snprintf(change->from, sizeof change->from, "%s", from);
    }
    return unlock(result);
}

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    int action;
    if (!path_at(folder, name, path)) return real_unlinkat(folder, name, flags);
    if (fails(REMOVE, path, &action)) return unlock(-1);
    struct stat status;
    int is_last_link = !lstat(path, &status) && status.st_nlink == 1;
    int result = real_unlinkat(folder, name, flags);
    if (!result && is_last_link) forget_data(&status);
    return unlock(result);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
