package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// damageArray is an array of n float32 in .npy form.
func damageArray(n int, r *rand.Rand) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
	b := append([]byte("\x93NUMPY\x01\x00v\x00"), fmt.Sprintf("%-117s\n", head)...)
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(r.NormFloat64())))
	}
	return b
}

// damageTorch is what torch.save writes for a tensor of four elements, as its entries.
func damageTorch(n int, data []byte) map[string][]byte {
	pickle := fmt.Sprintf("\x80\x02}U\x01wctorch._utils\n_rebuild_tensor\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI%d\ntQI0\n(I%d\nt(I1\nttRs.", n, n)
	return map[string][]byte{"a/data.pkl": []byte(pickle), "a/data/0": data, "a/version": []byte("3\n")}
}

// damageZip packs files by the standard library.
func damageZip(t *testing.T, method uint16, names []string, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = to.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// damageTar packs files into a tar archive that a writer compresses.
func damageTar(t *testing.T, compress func(io.Writer) (io.WriteCloser, error), names []string, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	c, err := compress(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(c)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, c} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// damageArchives are archives by their names, all with the same arrays.
func damageArchives(t *testing.T) map[string][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"Add.x.1.100.output.0.npy", "Mul.y.2.200.output.0.npy"}
	files := map[string][]byte{names[0]: damageArray(900, r), names[1]: damageArray(300, r)}
	pt := damageTorch(300, files[names[1]][128:])
	return map[string][]byte{
		"run.tar.gz": damageTar(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, names, files),
		"run.tar.zst": damageTar(t, func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderCRC(true))
		}, names, files),
		"stored.zip":   damageZip(t, zip.Store, names, files),
		"deflated.zip": damageZip(t, zip.Deflate, names, files),
		"stored.npz":   damageZip(t, zip.Store, names, files),
		"deflated.npz": damageZip(t, zip.Deflate, names, files),
		"w.pt":         damageZip(t, zip.Store, []string{"a/data.pkl", "a/data/0", "a/version"}, pt),
	}
}

// damageTree is what lies in a folder, as a text.
func damageTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %x\n", rel, data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b.String()
}

// TestFlippedBits flips single bits in archives: no command uses what a checksum does
// not fit. Each fails or does what it does with the archive as it was; what convert
// leaves behind are files of that one. Only a member that the directory of a zip file no
// longer calls a file may be left out with a warning.
func TestFlippedBits(t *testing.T) {
	const flips = 5
	dir := t.TempDir()
	t.Chdir(dir)
	for name, data := range damageArchives(t) {
		good := filepath.Join("good", name)
		if err := os.MkdirAll("good", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(good, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := damageRun(t, "convert", "-t", "bin", "-d", good, "-out", "want"); code != 0 {
			t.Fatalf("%s: status %d: %s", name, code, stderr)
		}
		want := damageTree(t, "want")
		r := rand.New(rand.NewPCG(3, uint64(len(data))))
		for range flips {
			at, bit := r.IntN(len(data)), r.IntN(8)
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			if err := os.WriteFile(name, bad, 0o666); err != nil {
				t.Fatal(err)
			}
			place := fmt.Sprintf("%s, bit %d of byte 0x%x", name, bit, at)
			damageCheck(t, place, name, good, want)
		}
		for _, dir := range []string{"want", "good"} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// damageCheck runs the commands on an archive with a flipped bit.
func damageCheck(t *testing.T, place, name, good, want string) {
	t.Helper()
	code, _, stderr := damageRun(t, "convert", "-t", "bin", "-d", name, "-out", "got")
	got := damageTree(t, "got")
	for line := range strings.Lines(got) {
		if !strings.Contains(want, line) {
			t.Errorf("%s: convert, status %d, wrote %.200s: %s", place, code, line, stderr)
		}
	}
	if code == 0 && got != want && !strings.Contains(stderr, "left out") {
		t.Errorf("%s: convert wrote less and no error: %s", place, stderr)
	}
	if err := os.RemoveAll("got"); err != nil {
		t.Fatal(err)
	}
	failed := code != 0
	for _, args := range [][]string{
		{"compare", "--cpu", good, "--npu", name},
		{"compare", "determinism", good, name},
		{"overflow", "scan", name},
		{"inspect", "--stats", name},
	} {
		code, stdout, stderr := damageRun(t, args...)
		if failed && code != 3 && !strings.Contains(stderr, "left out") {
			t.Errorf("%s: %s: status %d, want 3: %s%s", place, strings.Join(args, " "), code, stdout, stderr)
		}
		if !failed && code == 3 {
			t.Errorf("%s: %s: status 3, want that of the archive as it was: %s", place, strings.Join(args, " "), stderr)
		}
	}
}

// damageRun runs the command line and returns its status and what it printed.
func damageRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "dumptool", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status says it
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
