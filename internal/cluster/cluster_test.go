package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/lang"
)

// words draws arguments: of any characters but NUL, and of those that shells know.
func words() *rapid.Generator[[]string] {
	special := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n'\"\\$`!*?[]{}()<>|&;#~%=-aE\x01é张END")))
	any := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	bytes := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	return rapid.SliceOfN(rapid.OneOf(special, any, bytes), 0, 8)
}

// printed are the words that a shell makes of a script that prints each with a NUL.
func printed(t interface{ Fatal(...any) }, shell, script string) []string {
	cmd := exec.Command(shell)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, script)
	}
	list := strings.Split(string(out), "\x00")
	return list[:len(list)-1]
}

// What a shell makes of a quoted line are the words.
func TestShellLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := words().Draw(t, "words")
		line := "printf '%s\\0' " + lang.ShellLine(append([]string{"."}, want...))
		if got := printed(t, "sh", line)[1:]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	})
	if got := lang.ShellLine([]string{"compare", "--cpu", "s3://a/b", "a b", "", "it's", "=x"}); got != `compare --cpu s3://a/b 'a b' '' 'it'\''s' '=x'` {
		t.Errorf("%s", got)
	}
}

// sample is a job.
func sample() *Job {
	return &Job{Line: []string{"dumptool"}, Name: "job", N: 4, Shard: []string{"compare"}, Merge: []string{"merge"},
		Missing: []string{"compare", "merge", "--missing"}, Parts: "parts", CPUs: 2, Memory: "1Gi", MergeMemory: "512Mi", Image: "i", Secret: "s"}
}

// fakes are an sbatch that runs what it gets at once, the tasks of arrays one by one, and
// a dumptool that prints its arguments.
var fakes = map[string]string{
	"sbatch": `#!/bin/bash
for a; do case $a in --array=*) array=${a#*=};; esac; done
script=$(cat; echo .)
echo "$*" >>sbatch.log
for i in ${array-none}; do SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=7 bash -c "${script%.}"; done
echo "$(wc -l <sbatch.log);cluster"
`,
	"dumptool": `#!/bin/bash
[ "$3" = --missing ] && { echo 1-2; exit; }
printf '%s\0' "$SLURM_ARRAY_TASK_ID" "$@" >>dumptool.log
printf '\1\0' >>dumptool.log
`,
}

// slurmRun runs the script of a job with the fakes, and returns the lines of sbatch and
// the command lines of dumptool.
func slurmRun(t interface {
	Fatal(...any)
	Helper()
}, dir string, j *Job, args ...string,
) (sbatch []string, dumptool [][]string) {
	t.Helper()
	for name, text := range fakes {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sbatch.log", "dumptool.log"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	cmd := exec.Command("bash", append([]string{"-s", "--"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(j.Slurm()), os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil {
		t.Fatal(err, j.Slurm())
	}
	log, err := os.ReadFile(filepath.Join(dir, "sbatch.log"))
	if err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "dumptool.log"))
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(calls), "\x01\x00"), "\x01\x00") {
		dumptool = append(dumptool, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
	}
	return strings.Split(strings.TrimSpace(string(log)), "\n"), dumptool
}

func TestSlurm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sbatch, calls := slurmRun(t, dir, sample())
	want := []string{
		"--parsable --job-name=job-shards --array=0-3 --requeue --cpus-per-task=2 --mem=1G",
		"--parsable --job-name=job-merge --dependency=afterany:1 --mem=512M",
	}
	if !slices.Equal(sbatch, want) {
		t.Errorf("sbatch was called with\n%s\nwant\n%s", strings.Join(sbatch, "\n"), strings.Join(want, "\n"))
	}
	if len(calls) != 2 || !slices.Equal(calls[0], []string{"0-3", "compare", "--shard", "auto/4", "--resume", "-j", "7"}) {
		t.Errorf("dumptool was called with %q", calls)
	}
	sbatch, _ = slurmRun(t, dir, sample(), "repair")
	if len(sbatch) != 2 || !strings.Contains(sbatch[0], "--array=1-2 --requeue") || !strings.Contains(sbatch[1], "afterany:1") {
		t.Errorf("repair: sbatch was called with %q", sbatch)
	}
}

// Arguments reach the program through the script as they are.
func TestSlurmArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	control := regexp.MustCompile(`\p{Cc}`)
	rapid.Check(t, func(t *rapid.T) {
		clean := func(list []string) []string { // Check refuses control characters
			for i := range list {
				list[i] = control.ReplaceAllString(list[i], "")
			}
			return slices.DeleteFunc(list, func(s string) bool { return s == "--" || s == "--missing" })
		}
		j := sample()
		j.Line = append(j.Line, clean(words().Draw(t, "line"))...)
		j.Shard = append(j.Shard, clean(words().Draw(t, "shard"))...)
		j.Merge = append(j.Merge, clean(words().Draw(t, "merge"))...)
		if rapid.Bool().Draw(t, "arguments") {
			j.Shard = append(j.Shard, "--", "-x")
		}
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		_, calls := slurmRun(t, dir, j)
		want := [][]string{
			append([]string{"0-3"}, withFlags(j.Shard, "--shard", "auto/4", "--resume", "-j", "7")...),
			append([]string{"none"}, j.Merge...),
		}
		if !slices.EqualFunc(calls, want, slices.Equal[[]string]) {
			t.Errorf("dumptool was called with\n%q\nwant\n%q", calls, want)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := sample().Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Job){
		"--name":         func(j *Job) { j.Name = "A b" },
		"--cpus 0":       func(j *Job) { j.CPUs = 0 },
		"--memory 1G":    func(j *Job) { j.Memory = "1G" },
		"--merge-memory": func(j *Job) { j.MergeMemory = "" },

		`argument "a\x00": its character 2 is the control character U+0000, which`:       func(j *Job) { j.Shard = []string{"a\x00"} },
		`argument "dumps/\x01\x01": its character 7 is the control character U+0001`:     func(j *Job) { j.Shard = []string{"b", "dumps/\x01\x01"} },
		`argument "张\n": its character 2 is the control character U+000A`:                func(j *Job) { j.Line = []string{"张\n"} },
		`argument "\u0085": its character 1 is the control character U+0085`:             func(j *Job) { j.Merge = []string{"\u0085"} },
		`argument "\x1b]0;": its character 1 is the control character U+001B`:            func(j *Job) { j.Missing = []string{"\x1b]0;"} },
		`argument "registry/a\x7f": its character 11 is the control character U+007F`:    func(j *Job) { j.Image = "registry/a\x7f" },
		`argument "keys\tof me": its character 5 is the control character U+0009, which`: func(j *Job) { j.Secret = "keys\tof me" },
	} {
		j := sample()
		change(j)
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	j := sample()
	j.Merge = []string{"\xff"}
	if _, err := j.Kubernetes(); err == nil {
		t.Error("YAML has no bytes that are no UTF-8")
	}
	if _, err := j.Volcano(); err == nil {
		t.Error("YAML has no bytes that are no UTF-8")
	}
}
