package cluster

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// words draws arguments: any characters but NUL, and often special characters of shells.
func words() *rapid.Generator[[]string] {
	special := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n'\"\\$`!*?[]{}()<>|&;#~%=-aE\x01é张END")))
	any := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	bytes := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	return rapid.SliceOfN(rapid.OneOf(special, any, bytes), 0, 8)
}

// printed returns the words of a shell script that prints each with a NUL.
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

// sample is a job.
func sample() *Job {
	return &Job{Line: []string{"dumptool"}, Name: "job", Run: "7f", N: 4, Shard: []string{"compare"}, Merge: []string{"cluster", "merge", "--", "compare"},
		Logs: "work/7f/logs", CPUs: 2, Memory: "1Gi", MergeMemory: "512Mi", Image: "i", Secret: "s", Deadline: 6 * time.Hour}
}

// fakes are scripts: sbatch runs its script at once, once for an array; dumptool prints its
// arguments; scontrol knows the largest array.
var fakes = map[string]string{
	"sbatch": `#!/bin/bash
for a; do case $a in --array=*) array=${a#*=};; esac; done
script=$(cat; echo .)
printf '%s\0' "$@" >>sbatch.log
printf '\1\0' >>sbatch.log
for i in ${array-none}; do SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=7 bash -c "${script%.}"; done
echo "$(tr -dc '\1' <sbatch.log | wc -c);cluster"
`,
	"dumptool": `#!/bin/bash
for a; do
	case $a in
	--missing) cat missing; exit;;
	--) break;;
	esac
done
printf '%s\0' "$SLURM_ARRAY_TASK_ID" "$@" >>dumptool.log
printf '\1\0' >>dumptool.log
`,
	"scontrol": `#!/bin/bash
[ "$*" = 'show config' ] && printf 'MaxArraySize            = 8\nMaxDBDMsgs              = 20012\n'
`,
}

// slurmRun runs the script of a job with the fakes while some shards are missing, and returns the
// calls of sbatch and of dumptool.
func slurmRun(t interface {
	Fatal(...any)
	Helper()
}, dir string, j *Job, missing string,
) (sbatch, dumptool [][]string) {
	t.Helper()
	files := maps.Clone(fakes)
	files["missing"] = missing
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sbatch.log", "dumptool.log"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(j.Slurm())
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out), j.Slurm())
	}
	calls := func(name string) (all [][]string) {
		log, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for call := range strings.SplitSeq(strings.TrimSuffix(string(log), "\x01\x00"), "\x01\x00") {
			all = append(all, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
		}
		return all
	}
	return calls("sbatch.log"), calls("dumptool.log")
}

func TestSlurm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sbatch, calls := slurmRun(t, dir, sample(), "0-3")
	shards := strings.Fields("--parsable --job-name=job-shards --array=0-3 --requeue --cpus-per-task=2 --mem=1G --output=work/7f/logs/shard-%5a.out --open-mode=append")
	merge := strings.Fields("--parsable --job-name=job-merge --dependency=afterany:1 --kill-on-invalid-dep=yes --cpus-per-task=1 --mem=512M --output=work/7f/logs/merge.out --open-mode=append")
	if diff := cmp.Diff([][]string{shards, merge}, sbatch); diff != "" {
		t.Errorf("calls of sbatch:\n%s", diff)
	}
	want := [][]string{{"0-3", "compare", "--shard", "auto/4", "--resume", "-j", "7"}, {"none", "cluster", "merge", "--exit-zero", "--", "compare"}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls of dumptool:\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "work/7f/logs")); err != nil || !info.IsDir() {
		t.Errorf("without the folder of logs jobs fail silently: %v", err)
	}

	// Only the missing shards are submitted, with the limit of parallel shards, and with the user's
	// options for both jobs after ours.
	j := sample()
	j.Parallel, j.Sbatch, j.Logs = 2, []string{"--partition=cpu", "--comment=it's a test", "--mem", "3G"}, "50% of it/logs"
	sbatch, _ = slurmRun(t, dir, j, "1-2")
	if len(sbatch) != 2 || !slices.Contains(sbatch[0], "--array=1-2%2") || !slices.Contains(sbatch[1], "--dependency=afterany:1") {
		t.Errorf("calls of sbatch: %q", sbatch)
	}
	for i, call := range sbatch {
		if !slices.Equal(call[len(call)-4:], j.Sbatch) || !slices.ContainsFunc(call, func(a string) bool { return strings.HasPrefix(a, "--output=50%% of it/logs/") }) {
			t.Errorf("call %d of sbatch: %q", i, call)
		}
	}
	// If no shard is missing, only the merge is submitted.
	sbatch, calls = slurmRun(t, dir, sample(), "")
	if len(sbatch) != 1 || len(calls) != 1 || slices.ContainsFunc(sbatch[0], func(a string) bool { return strings.HasPrefix(a, "--dependency") }) {
		t.Errorf("calls of sbatch: %q, of dumptool: %q", sbatch, calls)
	}
}

// TestSlurmRefuses: the script submits no job that Slurm cannot run.
func TestSlurmRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range fakes {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	j := sample()
	for _, c := range []struct {
		n    int
		args []string
		want string
	}{
		{9, nil, "bash: 9 shards, and this Slurm has arrays of at most 8 (MaxArraySize): make the script with -n 8 or less\n"},
		{4, []string{"x"}, "bash: argument x: it takes none\n"},
		{8, nil, "cat: missing: No such file or directory\n"}, // dumptool fails
	} {
		j.N = c.n
		cmd := exec.Command("bash", append([]string{"-s", "--"}, c.args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(j.Slurm())
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err == nil || string(out) != c.want {
			t.Errorf("%d shards: %v, %q, want %q", c.n, err, out, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sbatch.log")); err == nil {
		t.Error("something was submitted")
	}
}

// Arguments pass through the script to the program and to sbatch unchanged.
func TestSlurmArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	control := regexp.MustCompile(`\p{Cc}`)
	rapid.Check(t, func(t *rapid.T) {
		clean := func(list []string) []string { // Check refuses control characters
			for i := range list {
				for control.MatchString(list[i]) { // removal may join bytes into another one
					list[i] = control.ReplaceAllString(list[i], "")
				}
			}
			return slices.DeleteFunc(list, func(s string) bool { return s == "--" || s == missingFlag })
		}
		j := sample()
		j.Line = append(j.Line, clean(words().Draw(t, "line"))...)
		j.Shard = append(j.Shard, clean(words().Draw(t, "shard"))...)
		j.Merge = append(j.Merge, clean(words().Draw(t, "merge"))...)
		j.Sbatch = slices.DeleteFunc(append([]string{"--comment"}, clean(words().Draw(t, "sbatch"))...), func(s string) bool { return s != "--comment" && strings.HasPrefix(s, "-") })
		if rapid.Bool().Draw(t, "arguments") {
			j.Shard = append(j.Shard, "--", "-x")
		}
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		sbatch, calls := slurmRun(t, dir, j, "0-3")
		want := [][]string{
			append([]string{"0-3"}, insertFlags(j.Shard, "--shard", "auto/4", "--resume", "-j", "7")...),
			append([]string{"none"}, insertFlags(j.Merge, "--exit-zero")...),
		}
		if !slices.EqualFunc(calls, want, slices.Equal[[]string]) {
			t.Errorf("dumptool was called with\n%q\nwant\n%q", calls, want)
		}
		for _, call := range sbatch {
			if got := call[len(call)-len(j.Sbatch):]; !slices.Equal(got, j.Sbatch) {
				t.Errorf("sbatch was called with\n%q\nwant\n%q", got, j.Sbatch)
			}
		}
	})
}

// TestSplitWords: words are split as a shell splits them.
func TestSplitWords(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "--b=", " ", "\t", `'it is'`, `"a b"`, `''`, `\ `, `\\`, `"'"`, `'"'`, "é张"}
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "")
		got, err := SplitWords(line)
		if err != nil {
			t.Fatal(err)
		}
		if want := printed(t, "sh", "printf '%s\\0' . "+line)[1:]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	})
	for _, open := range []string{"'a", `"a`, `a\`, `"a\"`} {
		if _, err := SplitWords(open); err == nil {
			t.Errorf("%s: no error", open)
		}
	}
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
		"--deadline 0s":  func(j *Job) { j.Deadline = 0 },

		"--sbatch partition=cpu: want an option of sbatch": func(j *Job) { j.Sbatch = []string{"partition=cpu"} },
		"--sbatch --array=1-2: the script sets":            func(j *Job) { j.Sbatch = []string{"--array=1-2"} },
		"--sbatch -a1-2: the script sets":                  func(j *Job) { j.Sbatch = []string{"-pcpu", "-a1-2"} },
		"--sbatch --: the script sets":                     func(j *Job) { j.Sbatch = []string{"-p", "cpu", "--", "x.sh"} },

		`argument "a\x00": its character 2 is the control character U+0000, which`:       func(j *Job) { j.Shard = []string{"a\x00"} },
		`argument "dumps/\x01\x01": its character 7 is the control character U+0001`:     func(j *Job) { j.Shard = []string{"b", "dumps/\x01\x01"} },
		`argument "张\n": its character 2 is the control character U+000A`:                func(j *Job) { j.Line = []string{"张\n"} },
		`argument "\u0085": its character 1 is the control character U+0085`:             func(j *Job) { j.Merge = []string{"\u0085"} },
		`argument "--comment=\x1b]0;": its character 11 is the control character U+001B`: func(j *Job) { j.Sbatch = []string{"--comment=\x1b]0;"} },
		`argument "registry/a\x7f": its character 11 is the control character U+007F`:    func(j *Job) { j.Image = "registry/a\x7f" },
		`argument "keys\tof me": its character 5 is the control character U+0009, which`: func(j *Job) { j.Secret = "keys\tof me" },
		`argument "q\n": its character 2 is the control character U+000A, which`:         func(j *Job) { j.Queue = "q\n" },
		`argument "logs\n": its character 5 is the control character U+000A, which`:      func(j *Job) { j.Logs = "logs\n" },
	} {
		j := sample()
		change(j)
		if err := j.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	j := sample()
	j.Merge = []string{"\xff"}
	if _, err := j.WriteKubernetes(); err == nil {
		t.Error("YAML has no bytes that are no UTF-8")
	}
	if _, err := j.Volcano(); err == nil {
		t.Error("YAML has no bytes that are no UTF-8")
	}
	j = sample()
	j.N = MaxIndexed
	if _, err := j.WriteKubernetes(); err != nil {
		t.Error(err)
	}
	j.N++
	if _, err := j.WriteKubernetes(); err == nil || !strings.Contains(err.Error(), "-n 100001: an Indexed Job of Kubernetes has at most 100000 shards") {
		t.Errorf("error %v", err)
	}
}

// TestInHours: durations are written as people write them, without loss.
func TestInHours(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"6h": 6 * time.Hour, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "30s": 30 * time.Second, "20h0m30s": 20*time.Hour + 30*time.Second} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
