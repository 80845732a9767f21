package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateDeploy = flag.Bool("update-deploy", false, "write the files in deploy again")

// TestDeploy checks that the files in deploy are what cluster prints.
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
