"""squall sql on a terminal: prompts, tables, errors that do not end it, and Ctrl-C, which cancels the statement alone."""
import os, pty, select, time
from cases import PORT, check, run

SHELL = os.environ.get("SQUALL_SHELL", "squall")


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, *options):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", HOME="/nonexistent")
            os.execv(SHELL, [SHELL, "sql", "--port", str(PORT), *options])

    def wait_for(self, text, seconds=30):
        """What the shell printed up to the text, which has to come."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{text!r} did not come; there was {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Leaves, and gives the exit status."""
        self.type("quit\n")
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass  # Linux's way of saying that the other end is closed.
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def statements_on_several_lines():
    shell = Terminal()
    shell.wait_for("squall> ")
    shell.type("SELECT 1 +\n")
    shell.wait_for("-> ")
    shell.type("1 AS two;\n")
    shell.wait_for("two")
    shell.wait_for("1 row in set")
    check(shell.end(), 0, "exit status")


def an_error_does_not_end_it():
    shell = Terminal()
    shell.wait_for("squall> ")
    shell.type("SELEC 1;\n")
    shell.wait_for("ERROR 1064 (42000)")
    shell.type("SELECT 40 + 2;\n")
    shell.wait_for(" 42 |")
    check(shell.end(), 0, "exit status")


def ctrl_c_cancels_the_statement():
    shell = Terminal()
    shell.wait_for("squall> ")
    shell.type("SELECT COUNT(*), SLEEP(600) FROM information_schema.tables;\n")
    other = Terminal()
    other.wait_for("squall> ")
    # Typed only when the statement runs: before that the line editor would take the key.
    for _ in range(600):
        other.type("SELECT IF(COUNT(*) = 1, 'it runs', 'not yet') AS x FROM information_schema.processlist WHERE info LIKE '%SLEEP(600)%' AND id <> CONNECTION_ID();\n")
        if "| it runs |" in other.wait_for("1 row in set"):
            break
    else:
        raise AssertionError("the statement does not run")
    check(other.end(), 0, "exit status")
    shell.type("\x03")
    shell.wait_for("ERROR 1317 (70100)")
    shell.wait_for("squall> ")
    shell.type("SELECT 40 + 2;\n")
    shell.wait_for(" 42 |")
    check(shell.end(), 0, "exit status")


def ctrl_c_forgets_the_line():
    shell = Terminal()
    shell.wait_for("squall> ")
    shell.type("SELECT 1,\n")
    shell.wait_for("-> ")
    shell.type("\x03")
    shell.wait_for("squall> ")
    shell.type("SELECT 40 + 2;\n")
    shell.wait_for(" 42 |")
    check(shell.end(), 0, "exit status")


run([statements_on_several_lines, an_error_does_not_end_it, ctrl_c_cancels_the_statement, ctrl_c_forgets_the_line])
