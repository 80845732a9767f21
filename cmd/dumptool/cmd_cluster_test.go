package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

var updateDeploy = flag.Bool("update-deploy", false, "write the files in deploy again")

// TestDeploy: the files in deploy are cluster's output.
func TestDeploy(t *testing.T) {
	t.Parallel()
	for scheduler, file := range map[string]string{"slurm": "slurm/submit.sh", "kubernetes": "kubernetes/jobs.yaml", "volcano": "volcano/job.yaml"} {
		got := runArgs(t, "cluster", scheduler, "-n", "100", "--run", "7f3a90c2", "--", "compare", "--cpu", "s3://golden/run7", "--npu", "s3://dumps/run7", "-out", "s3://results/run7/report")
		if got.code != 0 || got.err != "" {
			t.Fatalf("%s: %+v", scheduler, got)
		}
		path := filepath.Join("..", "..", "deploy", filepath.FromSlash(file))
		if *updateDeploy {
			if err := os.WriteFile(path, []byte(got.out), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.out); diff != "" {
			t.Errorf("%s is not what cluster %s prints; go test ./cmd/dumptool -run TestDeploy -update-deploy writes it:\n%s", path, scheduler, diff)
		}
	}
}

// container is a container of a manifest: its command, the number of runs, and the variable with
// the index.
type container struct {
	args     []string
	n        int
	variable string
}

// containers returns the containers of a manifest of Kubernetes or Volcano, in order.
func containers(t *testing.T, manifest string) (all []container) {
	t.Helper()
	type spec struct {
		Completions int
		Replicas    int
		Template    struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(manifest))
	for {
		var job struct {
			Spec struct {
				spec  `yaml:",inline"`
				Tasks []spec
			}
		}
		err := decoder.Decode(&job)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, manifest)
		}
		for _, s := range append(job.Spec.Tasks, job.Spec.spec) {
			for _, c := range s.Template.Spec.Containers {
				one := container{args: c.Args, n: max(1, s.Completions, s.Replicas), variable: "JOB_COMPLETION_INDEX"}
				if s.Replicas > 0 {
					one.variable = "VC_TASK_INDEX"
				}
				for i, arg := range one.args { // as Kubernetes does
					one.args[i] = strings.ReplaceAll(arg, "$$", "$")
				}
				all = append(all, one)
			}
		}
	}
}

// fakeSbatch runs its script at once, and all tasks of an array.
const fakeSbatch = `#!/bin/bash
for a; do case $a in --array=*) array=${a#*=};; esac; done
script=$(cat; echo .)
tasks=
for range in ${array//,/ }; do
	case $range in *-*) tasks+=" $(seq "${range%-*}" "${range#*-}")";; *) tasks+=" $range";; esac
done
for i in ${tasks:-none}; do
	case $i in none) unset SLURM_ARRAY_TASK_ID;; *) export SLURM_ARRAY_TASK_ID=$i;; esac
	bash -c "${script%.}" >&2 || echo "task $i ends with $?" >&2
done
echo 1
`

// persistentFlags sets all global flags to values other than the default, except the flag without.
func persistentFlags(t *testing.T, values map[string]string, without string) (flags []string) {
	t.Helper()
	a, _ := testApp(t)
	newRootCommand(a).PersistentFlags().VisitAll(func(f *pflag.Flag) {
		value := values[f.Name]
		if value == "" {
			value = map[string]string{"bool": "true", "int": "3", "size": "2MiB", "duration": "1m"}[f.Value.Type()]
		}
		switch {
		case f.Name == "help-all" || f.Name == "version" || f.Name == without:
		case value == "":
			t.Errorf("--%s: give it a value here", f.Name)
		default:
			flags = append(flags, "--"+f.Name+"="+value)
		}
	})
	return flags
}

// TestClusterFlags runs every generated job against a server of object storage, with all global
// flags on either side of the --. Only a flag names the server. Each job's result equals that of a
// single run.
func TestClusterFlags(t *testing.T) {
	endpoint := storeServer(t)
	unnamed := append(os.Environ(), "AWS_ENDPOINT_URL_S3=") // where only a flag names the server
	dir := t.TempDir()
	config := filepath.Join(dir, "settings.yaml")
	for path, text := range map[string]string{config: "compare:\n  rtol: 0.3\n", filepath.Join(dir, "sbatch"): fakeSbatch} {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	network := filepath.Join("..", "..", "testdata", "network")
	err := filepath.WalkDir(network, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		below, _ := filepath.Rel(network, path)
		for _, rank := range []string{"rank0", "rank1"} {
			key := strings.Replace(filepath.ToSlash(below), "npu/", "npu/"+rank+"/", 1)
			putObject(t, endpoint, "in/"+key, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"config": config, "log-format": "json", "color": "never", "lang": "zh", "s3-endpoint": endpoint, "s3-region": "cn-north-4", "s3-path-style": "on"}
	run := func(args []string, env ...string) {
		t.Helper()
		cmd := exec.Command("dumptool", args...)
		cmd.Env = append(slices.Clone(unnamed), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %q: %v\n%s", env, args, err, out)
		}
	}
	for without, other := range map[string]string{"verbose": "quiet", "quiet": "verbose"} {
		flags := persistentFlags(t, values, without)
		line := []string{"compare", "--cpu=" + remotePlace + "/in/cpu", "--npu=" + remotePlace + "/in/npu", "--format=csv,md", "--pictures=0", "--exit-zero"}
		out := func(on string) string { return "out/" + other + "-" + on }
		run(slices.Concat(line, flags, []string{"-out", remotePlace + "/" + out("one")}))
		// files are those of a folder, which some of them name.
		files := func(folder string) map[string]string {
			found := map[string]string{}
			for name, data := range placeFiles(t, remotePlace, folder) {
				found[filepath.Base(name)] = strings.ReplaceAll(string(data), folder, "OUT")
			}
			return found
		}
		want := files(out("one"))
		if len(want) < 2 {
			t.Fatalf("one run wrote %d files", len(want))
		}
		for _, on := range []string{slurmScheduler, kubernetesScheduler, volcanoScheduler, "local"} {
			args := slices.Concat([]string{"cluster", on, "-n", "2", "--run", "7"}, flags, []string{"--"}, line)
			if other == "verbose" { // on the other side
				args = slices.Concat([]string{"cluster", on, "-n", "2", "--run", "7", "--"}, line, flags)
			}
			args = append(args, "-out", remotePlace+"/"+out(on))
			switch on {
			case "local":
				run(args)
			case slurmScheduler:
				script, err := exec.Command("dumptool", args...).Output()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("bash")
				cmd.Dir, cmd.Stdin = dir, bytes.NewReader(script)
				cmd.Env = append(slices.Clone(unnamed), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
				if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("ends with")) {
					t.Fatalf("%v\n%s", err, out)
				}
			default:
				manifest, err := exec.Command("dumptool", args...).Output()
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range containers(t, string(manifest)) {
					for i := range c.n {
						run(c.args, fmt.Sprintf("%s=%d", c.variable, i))
					}
				}
			}
			if diff := cmp.Diff(want, files(out(on))); diff != "" {
				t.Errorf("%s, --%s: - one run, + the job\n%s", on, other, diff)
			}
		}
	}
}

// TestClusterAgain runs all containers of all manifests as processes concurrently, as a cluster
// does, then again after the data changed, with the merge before any shard: the second report is
// about the new data.
func TestClusterAgain(t *testing.T) {
	t.Parallel()
	network := filepath.Join("..", "..", "testdata", "network")
	for _, on := range []string{kubernetesScheduler, volcanoScheduler} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, side := range []string{"cpu", "npu/rank0", "npu/rank1", "npu/rank2"} {
				if err := os.CopyFS(filepath.Join(dir, side), os.DirFS(filepath.Join(network, side[:3]))); err != nil {
					t.Fatal(err)
				}
			}
			line := []string{"compare", "--cpu", filepath.Join(dir, "cpu"), "--npu", filepath.Join(dir, "npu"), "--format", "csv,md"}
			report := filepath.Join(dir, "report")
			printed := runArgs(t, slices.Concat([]string{"cluster", on, "-n", "3", "--deadline", "2m", "--run", "7", "--"}, line, []string{"-out", report})...)
			if printed.code != 0 {
				t.Fatalf("%+v", printed)
			}
			all := containers(t, printed.out)
			shards, merge := all[0], all[1]
			attempt := func(before time.Duration) {
				ended := make(chan error)
				start := func(args []string, env ...string) {
					cmd := exec.Command("dumptool", args...)
					cmd.Env = append(os.Environ(), env...)
					go func() {
						out, err := cmd.CombinedOutput()
						if err != nil {
							err = fmt.Errorf("%q: %w\n%s", args, err, out)
						}
						ended <- err
					}()
				}
				start(merge.args)
				time.Sleep(before)
				for i := range shards.n {
					start(shards.args, fmt.Sprintf("%s=%d", shards.variable, i))
				}
				for range shards.n + 1 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			}
			same := func(when string) {
				one := filepath.Join(t.TempDir(), "one")
				if r := runArgs(t, append(slices.Clone(line), "-out", one)...); r.code != exitFinding {
					t.Fatalf("%+v", r)
				}
				read := func(folder string) map[string]string {
					files := map[string]string{}
					for _, name := range []string{"cpu_vs_npu.csv", "compare.md"} {
						data, err := os.ReadFile(filepath.Join(folder, name))
						if err != nil {
							t.Fatal(err)
						}
						files[name] = strings.ReplaceAll(string(data), folder, "OUT")
					}
					return files
				}
				if diff := cmp.Diff(read(one), read(report)); diff != "" {
					t.Errorf("%s: - one run, + the job\n%s", when, diff)
				}
			}
			attempt(0)
			same("first")
			first, err := os.ReadFile(filepath.Join(report, "cpu_vs_npu.csv"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "npu/rank1/Conv2D.conv2.3.16.1624605159829817")); err != nil {
				t.Fatal(err)
			}
			attempt(2 * time.Second) // time for the merge to see the first attempt's documents
			same("second")
			if second, err := os.ReadFile(filepath.Join(report, "cpu_vs_npu.csv")); err != nil || bytes.Equal(first, second) {
				t.Errorf("the report of the second attempt is that of the first: %v", err)
			}
		})
	}
}
