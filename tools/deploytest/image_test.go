//go:build linux

package deploytest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// nobody is the user of the image.
const nobody = 65534

// image is a container as a node runs it: the files of the image, of which none may be
// written, and what is mounted into it.
type image struct {
	root string
	user int
	env  []string
}

// newImage lays out what deploy/container/Dockerfile copies: the program, and a folder for
// temporary files.
func newImage(t *testing.T) *image {
	t.Helper()
	img := &image{root: t.TempDir()}
	final := read(t, "container/Dockerfile")
	final = final[strings.LastIndex(final, "\nFROM scratch\n"):]
	for line := range strings.Lines(final) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ENV":
			img.env = append(img.env, rest)
		case "USER":
			if _, err := fmt.Sscanf(rest, "%d:", &img.user); err != nil {
				t.Fatal(rest, err)
			}
		}
	}
	for _, want := range []string{"COPY dumptool-linux-${ARCH} /dumptool\n", "COPY --from=base /image/ /\n", "ENTRYPOINT [\"/dumptool\"]\n"} {
		if !strings.Contains(final, want) {
			t.Fatalf("the image has no line %q", want)
		}
	}
	if !strings.Contains(read(t, "container/Dockerfile"), "mkdir -m 1777 /image/tmp\n") {
		t.Fatal("the image has no /tmp that all may write")
	}
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(img.root, "dumptool"), data, 0o777)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(img.root, "tmp"), 0o555)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// seal takes away the right to write to the file system of the image, and gives folders of
// it, which are those of volumes, to its user.
func (img *image) seal(t *testing.T, volumes ...string) {
	t.Helper()
	for _, v := range volumes {
		dir := filepath.Join(img.root, v)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(img.root, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(img.root, 0o755) }) // for the removal
}

// run runs a container with arguments and more variables, and returns how it ended, what
// it printed, its largest memory and the time of processors.
func (img *image) run(t *testing.T, args, env []string) (status int, out string, peak int64, took time.Duration) {
	t.Helper()
	cmd := exec.Command("/dumptool", args...)
	cmd.Env = append(slices.Clone(img.env), env...)
	cmd.Dir = "/tmp"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: img.root, Credential: &syscall.Credential{Uid: uint32(img.user), Gid: uint32(img.user)}}
	if os.Getuid() != 0 { // as the one user of a name space
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot: img.root, Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: img.user, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: img.user, HostID: os.Getgid(), Size: 1}},
		}
	}
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	const kibi = 1024
	ended := cmd.ProcessState
	return ended.ExitCode(), printed.String(), ended.SysUsage().(*syscall.Rusage).Maxrss * kibi, ended.UserTime() + ended.SystemTime()
}

// rowsOfRank is how many rows TestImage makes of each of its four ranks.
var rowsOfRank = flag.Int("rows", 5_000, "rows of each rank of TestImage")

// TestImage does the work of the Jobs that cluster prints as a node does it: 20,000 rows in
// four shards and a merge, in containers of the shipped image whose user is nobody, with
// nothing that can be written but a volume and the /tmp of the manifest; for the merge not
// even that.
func TestImage(t *testing.T) {
	const ranks = 4
	rows := *rowsOfRank
	img := newImage(t)
	if img.user != nobody {
		t.Fatalf("the image is for the user %d", img.user)
	}
	for rank := range ranks {
		for _, side := range []string{"cpu", "npu"} {
			dir := filepath.Join(img.root, "in", side, fmt.Sprintf("rank_%d/Net/0/0", rank))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "statistic.csv"), statistics(rank, rows, side == "npu"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	img.seal(t, "data", "tmp")
	all := pods(t, []string{"cluster", "kubernetes", "-n", fmt.Sprint(ranks), "--run", "7", "--", "compare", "--cpu", "/in/cpu", "--npu", "/in/npu", "--format", "csv", "-out", "/data/report"})
	run := func(p *pod, env ...string) {
		status, out, peak, took := img.run(t, p.spec.Containers[0].Args, env)
		if limit := p.spec.Containers[0].Resources.Limits.Memory().Value(); status != 0 || peak > limit {
			t.Fatalf("%s %v ends with %d, after %d MiB:\n%s", p.name, env, status, peak>>20, out)
		}
		t.Logf("%s %v: %d MiB, %.1f s of a processor", p.name, env, peak>>20, took.Seconds())
	}
	for i := range ranks {
		run(&all[0], fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i))
	}
	if err := os.Chmod(filepath.Join(img.root, "tmp"), 0o555); err != nil {
		t.Fatal(err)
	}
	run(&all[1])
	table, err := os.ReadFile(filepath.Join(img.root, "data/report/statistics.csv"))
	if n := bytes.Count(table, []byte("\n")); err != nil || n != ranks*rows+1 {
		t.Errorf("%d lines of rows, %v", n, err)
	}
}

// statistics is a statistic.csv of some rows, of which some of the NPU's are wrong.
func statistics(rank, rows int, npu bool) []byte {
	var b bytes.Buffer
	b.WriteString("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero Count,L2Norm Value\n")
	for i := range rows {
		high := 1.5
		if npu && i%(1000+rank) == 999 {
			high = 6
		}
		fmt.Fprintf(&b, "Add,Default/op%05d,%d,0,%d,output,0,4,float32,\"(4,)\",%g,-1,0.25,4,0,0,0,0,0,0,2.0\n", i, i, 1700000000000000+i, high)
	}
	return b.Bytes()
}

// pod is the pod of a Job.
type pod struct {
	name string
	spec corev1.PodSpec
}

// pods are those of the Jobs that a command line prints.
func pods(t *testing.T, args []string) (all []pod) {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	list, err := jobs(string(out))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		all = append(all, pod{list[i].Name, list[i].Spec.Template.Spec})
	}
	return all
}
