"""Types into a real, interactive shell that has the completion of cairn, and prints what cairn was called with.

    type_in_shell.py SHELL SCRIPT LINE...

Each LINE is typed, a tabulator for every %, and then Enter; `cairn` is a function of the shell that prints its
arguments as <ARGUMENTS>. Exit 1 if the shell does not come to its end within a minute.
"""

import os
import pty
import re
import select
import sys
import time

SHELLS = {
    "bash": (["/bin/bash", "--norc", "--noprofile", "-i"], "cairn() { printf '<%s>\\n' \"$*\"; }"),
    "zsh": (["/usr/bin/zsh", "-f", "-i"], "cairn() { printf '<%s>\\n' \"$*\" }"),
    "fish": (["/usr/bin/fish", "--no-config", "-i"],
             "function cairn; printf '<%s>\\n' (string join -- ' ' $argv); end"),
}
# zsh takes a tabulator for a part of the text while more input is there already.
BEFORE = {"bash": "", "fish": "",
          "zsh": "autoload -Uz compinit && compinit -u -D && zstyle ':completion:*' insert-tab false && "}


def main(shell, script, lines):
    command, function = SHELLS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", PS1="$ ")
        os.execv(command[0], command)
    screen = b""
    deadline = time.monotonic() + 60

    def read_until(mark):
        nonlocal screen
        while mark not in screen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([terminal], [], [], left)[0]:
                sys.exit(f"{shell}: no {mark!r} in:\n{screen.decode(errors='replace')}")
            try:
                screen += os.read(terminal, 65536)
            except OSError:
                sys.exit(f"{shell}: it ended after:\n{screen.decode(errors='replace')}")

    def type_text(text):
        os.write(terminal, text.encode() + b"\r")

    type_text(f"{BEFORE[shell]}source {script}; {function}; echo rea''dy")
    read_until(b"ready\r\n")
    for number, line in enumerate(lines):
        type_text(line.replace("%", "\t"))
        type_text(f"echo do''ne{number}")
        read_until(f"done{number}\r\n".encode())
    type_text("exit")
    text = re.sub(rb"\x1b(\[[0-9;?>=]*[a-zA-Z]|\][^\a\x1b]*(\a|\x1b\\)|[()=>][0-9A-Za-z]?)|\r", b"", screen)
    for called in re.findall(rb"^<([^>\n]*)>$", text, re.MULTILINE):
        print(called.decode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
