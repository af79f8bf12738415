"""State that is no name: who leaves it, who takes it."""

import pytest

from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.lint.shell import shell_effects
from carryover.tasks.readers.trace import Block, Language, Reply, Trace


def lint(*blocks, language: Language = "python", **about):
    ran = tuple(Block(code, language=language) for code in blocks)
    return lint_trace(Trace(trace_id="trace", replies=(Reply("", ran),), **about))


@pytest.mark.parametrize(
    ("first", "second", "files"),
    [
        ("open('a.txt', 'w').write('1')", "print(open('a.txt').read())", ("a.txt",)),
        ("import json\njson.dump([1], open('a.json', 'w'))", "import json\njson.load(open('./a.json'))", ("a.json",)),
        ("df.to_csv('a.csv')", "import pandas as pd\npd.read_csv('a.csv')", ("a.csv",)),
        (
            "from pathlib import Path\nPath('a').write_text('1')",
            "from pathlib import Path\nPath('a').read_text()",
            ("a",),
        ),
        ("path = 'out/a.npy'\nnp.save(path, x)", "np.load('out/a.npy')", ("out/a.npy",)),
        ("import os\np = os.path.join('out', 'a')\nopen(p, mode='wb')", "open('out/a')", ("out/a",)),
        ("import shutil\nshutil.copy('a', 'b')", "open('b')", ("b",)),
        ("name = 'a'\nopen(f'{name}.txt', 'w')", "open('a.txt')", ("a.txt",)),
        ("torch.save(model, 'm.pt')", "torch.load('m.pt')", ("m.pt",)),
        ("!wget -q x > a.html", "open('a.html')", ("a.html",)),
        ("open('helper.py', 'w').write('X = 1')", "from helper import X\nprint(X)", ("helper.py",)),
        ("%%writefile -a helper.py\nX = 1", "import helper\nprint(helper.X)", ("helper.py",)),
        ("import os\nos.makedirs('out')", "open('out/a', 'w')", ("out",)),
        ("%%writefile run.py\nX = 1", "%run run.py -v", ("run.py",)),
        ("%%writefile run.py\nopen('a', 'w')", "!python run.py", ("run.py",)),
        ("name = 'a.txt'\nopen(name, 'w')", "name = 'a.txt'\n!cat {name}", ("a.txt",)),
        ("import numpy as np\nnp.save('w', x)", "import numpy as np\nnp.load('w.npy')", ("w.npy",)),
        ("np.savez_compressed('w', x)", "np.load('w.npz')", ("w.npz",)),
        ("import shelve\nshelve.open('s')['a'] = 1", "import shelve\nshelve.open('s')", ("s",)),
        ("from zipfile import ZipFile\nZipFile('z', 'w')", "import zipfile\nzipfile.ZipFile('z')", ("z",)),
        ("import tarfile\ntarfile.open('t', 'w:gz')", "import tarfile\ntarfile.open('t')", ("t",)),
        ("!mkdir out", "df.to_csv('out/a.csv')", ("out",)),
        ("plt.savefig('p.png')", "from PIL import Image\nImage.open('p.png')", ("p.png",)),
        ("import os\nos.makedirs('out')", "import glob\nglob.glob('out/*.txt')", ("out",)),
        ("import os\nos.makedirs('out')", "import os\nprint(os.listdir('./out/'))", ("out",)),
        ("Path('out').mkdir()", "print(list(Path('out').iterdir()))", ("out",)),
        ("!git clone https://x/y.git", "print(open('y/src/a.py').read())", ("y",)),
        ("import os\nos.makedirs('out')", "import os\nos.makedirs('out')\nos.listdir('out')", ()),
        ("import os\nos.makedirs('out')", "import os\nos.makedirs('out/a')\nopen('out/a/b', 'w')", ()),
        ("open('a.txt', 'w')", "open('b.txt', 'w')", ()),
        ("open('a.txt', 'w')", "open('a.txt', 'w').write('2')\nopen('a.txt')", ()),
        ("print(open('a.txt').read())", "open('a.txt')", ()),
        ("open('a.txt', 'w')\nPath('a.txt').unlink()", "open('a.txt')", ()),
    ],
)
def test_files_that_a_later_block_reads(first, second, files):
    found = lint(first, second)
    assert found.carried_files == files
    assert found.is_stateless_safe == (not files)


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("import os\nos.environ['A'] = '1'", "import os\nprint(os.environ['A'])", ("A",)),
        ("import os\nos.environ['A'] = '1'", "import os\nprint(os.getenv('A'))", ("A",)),
        ("%env A=1", "import os\nos.environ.get('A')", ("A",)),
        ("import os\nos.environ.update({'A': '1'}, B='2')", "import os\nos.environ['A'], os.environ['B']", ("A", "B")),
        ("import os\nos.environ |= {'A': '1'}", "import os\nos.environ['A']", ("A",)),
        ("import os\nos.environ['A'] = '1'", "import os\nos.environ['A'] = '2'\nos.environ['A']", ()),
        ("import os\nprint(os.environ['HOME'])", "import os\nprint(os.environ['HOME'])", ()),
    ],
)
def test_environment_variables_that_a_later_block_reads(first, second, names):
    assert lint(first, second).carried_environment == names


@pytest.mark.parametrize(
    ("first", "second", "is_carried"),
    [
        ("import os\nos.chdir('/tmp')", "import os\nprint(os.getcwd())", True),
        ("import os\nos.chdir('/tmp')", "open('a.txt')", True),
        ("%cd /tmp", "open('a.txt')", True),
        ("%cd /tmp", "!ls", True),
        ("%cd /tmp", "import os\nos.listdir()", True),
        ("!cd /tmp", "import os\nos.listdir()", False),
        ("import os\nos.chdir('/tmp')", "import os\nos.chdir('/')\nos.getcwd()", False),
        ("import os\nos.chdir('/tmp')", "open('/etc/hosts')", False),
    ],
)
def test_a_working_directory_that_a_later_block_needs(first, second, is_carried):
    assert lint(first, second).carried_directory == is_carried


@pytest.mark.parametrize(
    ("first", "second", "packages"),
    [
        ("!pip install humanize", "import humanize", ("humanize",)),
        ("%pip install -q scikit-learn==1.5", "from sklearn.svm import SVC", ("sklearn",)),
        ("import subprocess\nsubprocess.run(['pip', 'install', 'humanize'])", "import humanize", ("humanize",)),
        ("import os\nos.system('pip install humanize')", "import json", ()),
    ],
)
def test_packages_that_a_later_block_imports(first, second, packages):
    assert lint(first, second).carried_packages == packages


def test_a_server_that_a_later_block_speaks_to():
    start = "import subprocess\nserver = subprocess.Popen(['python', '-m', 'http.server'])"
    assert lint(start, "import requests\nrequests.get('http://localhost:8000')").carried_processes
    assert not lint(start, "import requests\nrequests.get('https://example.org')").carried_processes


@pytest.mark.parametrize("look", ["import threading\nthreading.active_count()", "import os\nos.kill(7, 15)"])
def test_a_process_that_a_later_block_looks_at(look):
    start = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()"
    assert lint(start, look).carried_processes
    assert not lint("import threading", look).carried_processes


def test_a_figure_that_a_later_block_goes_on_with():
    draw = "import matplotlib.pyplot as plt\nplt.plot([1])"
    assert lint(draw, "import matplotlib.pyplot as plt\nplt.savefig('a.png')").carried_figures
    assert not lint(draw, "import matplotlib.pyplot as plt\nplt.plot([2])\nplt.savefig('a.png')").carried_figures
    assert not lint(draw + "\nplt.close()", "import matplotlib.pyplot as plt\nplt.title('a')").carried_figures


def test_the_verdict_names_state_beyond_names():
    found = lint("import os\nos.chdir('/tmp')\nopen('a', 'w')", "import os\nos.getcwd(), open('a')")
    assert found.verdict == "takes file `a`, the working directory from earlier blocks, first at block 2"
    assert (found.idiom, found.carried_names, found.first_name) == ("needs_persistence", (), "file a")


@pytest.mark.parametrize(("names", "taken"), [("a, b, c", "`a`, `b`, `c`"), ("a, b, c, d", "`a`, `b`, `c` and 1 more")])
def test_the_verdict_names_three_names_and_counts_the_rest(names, taken):
    found = lint(f"{names} = f()", f"print({names})")
    assert found.verdict == f"takes {taken} from earlier blocks, first at block 2"


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("export W=3", "echo $W", ("W",)),
        ("W=3", 'echo "${W}"', ("W",)),
        ("W=3 make", "echo $W", ()),
        ("W=3", "W=4; echo $W", ()),
        ("W=3", "echo '$W'", ()),
        ("greet() {\n  echo hi\n}", "greet you", ("greet",)),
        ("alias ll='ls -l'", "ll", ("ll",)),
    ],
)
def test_shell_variables_that_a_later_block_reads(first, second, names):
    found = lint(first, second, language="shell")
    assert (found.carried_names, found.language, found.unjudged_count) == (names, "shell", 0)


def test_a_cell_of_bash_is_a_shell_block():
    found = lint("%%bash\nexport W=3", "%%bash\necho $W")
    assert (found.carried_names, found.carried_environment, found.language) == (("W",), ("W",), "shell")


@pytest.mark.parametrize(
    ("first", "second", "files"),
    [
        ("echo 1 > a.txt", "cat a.txt", ("a.txt",)),
        ("echo 1 > a.txt", "cat b.txt a.txt", ("a.txt",)),
        ("cat > run.py <<'EOF'\nprint(1)\nEOF", "python run.py", ("run.py",)),
        ("cat > run.py <<'EOF'\nopen('a', 'w')\nEOF\npython3 -u run.py", "cat a", ("a",)),
        ("cat <<EOF > run.py\nopen('a', 'w')\nEOF\n", "python ./run.py && cat a", ("run.py",)),
        ("cp a b", "diff b c", ("b",)),
        ("curl -s -o d.csv https://x/d", "head d.csv", ("d.csv",)),
        ("wget -O d.csv https://x/d", "wget -O d.csv https://x/d", ()),
        ("tar -czf a.tgz src", "tar xzf a.tgz", ("a.tgz",)),
        ("git clone https://x/y.git", "cd y && ls", ("y",)),
        ("mkdir out", "touch out/a", ("out",)),
        ("git clone https://x/y.git", "ls y/src", ("y",)),
        ("sed -i 's/a/b/' /src/a.py", "python /src/a.py", ("/src/a.py",)),
        ("echo 1 > a.py", "sed -i -e 's/a/b/' a.py", ("a.py",)),
        ("perl -pi -e 's/a/b/' a.py", "cat a.py", ("a.py",)),
        ("sed 's/a/b/' a.py", "cat a.py", ()),
        ("perl -0777pi -e 's/a/b/' a.py", "cat a.py", ("a.py",)),
        ("perl -Mstrict -ne 'print' a.py", "cat a.py", ()),
        ("mkdir out", "echo 1 > out/a", ("out",)),
        ("mkdir out", "mkdir -p out/a", ()),
        ("echo 1 > a.txt", "echo 2 > a.txt; cat a.txt", ()),
        ("echo 1 > a.txt; rm a.txt", "cat a.txt", ()),
        ("ls 2> /dev/null", "cat /dev/null", ()),
    ],
)
def test_files_that_a_later_command_reads(first, second, files):
    assert lint(first, second, language="shell").carried_files == files


def test_a_directory_and_a_job_of_an_earlier_command():
    assert lint("cd src", "ls", language="shell").carried_directory
    assert not lint("cd src", "cd /tmp && ls", language="shell").carried_directory
    assert not lint("cd src", "echo done", language="shell").carried_directory
    assert lint("python serve.py &", "curl localhost:8000", language="shell").carried_processes
    assert lint("pip install humanize", "python -c 'import humanize'", language="shell").carried_packages == (
        "humanize",
    )


def test_a_program_that_an_earlier_command_installed():
    assert lint("sudo apt-get install -y jq", "jq . a.json", language="shell").carried_packages == ("jq",)
    assert not lint("apt-get update", "jq . a.json", language="shell").carried_packages


def test_a_terminal_that_an_earlier_command_opened():
    found = lint("tmux new -d -s a 'python serve.py'", "tmux send-keys -t a q", language="shell")
    assert found.carried_processes
    assert not lint("ls", "tmux ls", language="shell").carried_processes


def test_python_of_a_command_runs_in_a_process_of_its_own():
    found = lint("python3 -c 'limit = 4'", "python3 -c 'print(area)'", language="shell")
    assert (found.idiom, found.carried_names, found.runtime) == ("stateless_safe", (), "fresh process per call")
    found = lint("python3 -c 'limit = 4'", "python3 - <<'EOF'\nprint(limit)\nEOF", language="shell")
    assert (found.carried_names, found.runtime) == (("limit",), "fresh process per call")


def test_programs_of_a_shell_are_taken_from_quotes_and_here_documents():
    block = shell_effects('python -c "print(\\"a\\")" && python3 <<EOF\nx = 1\nEOF')
    assert block.programs == ("x = 1\n", 'print("a")')


def test_only_job_commands_need_a_process_of_an_earlier_block():
    assert lint("python serve.py &", "kill %1", language="shell").carried_processes
    assert not lint("python serve.py &", "cat notes.txt", language="shell").carried_processes


def test_a_framework_of_fresh_processes_says_so():
    assert lint("ls", "pwd", language="shell", has_fresh_processes=True).runtime == "fresh process per call"


def test_a_shell_variable_shows_no_runtime():
    ran = (Block("export W=3", output="", language="shell"), Block("echo $W", output="", language="shell"))
    found = lint_trace(Trace(trace_id="trace", replies=(Reply("", ran),)))
    assert (found.carried_names, found.runtime) == (("W",), None)


@pytest.mark.parametrize("change", ["os.environ['X'] = '1'", "os.chdir('/tmp')"])
@pytest.mark.parametrize("ran", ["cat > a.py <<'EOF'\n{}\nEOF\npython a.py", 'python -c "{}"'])
def test_what_a_child_process_sets_ends_with_it(change, ran):
    found = lint(ran.format(f"import os; {change}"), "echo $X && ls", language="shell")
    assert found.is_stateless_safe
