/*
 * The way out of a script that does not stop by itself.
 *
 * The engine asks now and then whether it has to stop, but not inside of every loop that is written in C (a search in a
 * long string, a sort without a comparison function). Such a loop is left by a jump from a signal's handler. That is
 * sound since all that the engine changes is in its realm's memory, which is set back after every call: no other call sees
 * what the jump leaves half done.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/* Where the handler jumps to, while the thread is in the engine. */
static __thread sigjmp_buf *volatile escape;
/* How many functions of the server the engine has called that have not returned: they must not be left by a jump. */
static __thread volatile sig_atomic_t shields;

static void on_signal(int number)
{
    (void)number;
    if (escape != NULL && shields == 0) {
        sigjmp_buf *target = escape;
        escape = NULL;
        siglongjmp(*target, 1);
    }
}

/* Takes the signal for this process. 0, or an error number. */
int squall_javascript_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    /* The signal is not blocked in its handler: a jump leaves the signal mask as it is. */
    action.sa_flags = SA_RESTART | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGURG, &action, NULL) == 0 ? 0 : errno;
}

/* Calls a function of the engine, which may be left at any place. 1 if it was. */
int squall_javascript_guard(void (*body)(void *), void *argument)
{
    sigjmp_buf target;
    shields = 0;
    if (sigsetjmp(target, 0) != 0)
        return 1;
    escape = &target;
    body(argument);
    escape = NULL;
    return 0;
}

/* A function of the server begins (1) or ends (-1). */
void squall_javascript_shield(int change)
{
    shields += change;
}

/* Makes a thread leave the engine. */
int squall_javascript_interrupt(pthread_t thread)
{
    return pthread_kill(thread, SIGURG);
}
