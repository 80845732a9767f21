package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
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

	"dumptool/internal/lang"
)

// damageHead is the size of the header of an array.
const damageHead = 128

// damageArray is an array of n float32 in .npy form.
func damageArray(n int, r *rand.Rand) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
	b := append([]byte("\x93NUMPY\x01\x00v\x00"), fmt.Sprintf("%-117s\n", head)...)
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(r.NormFloat64())))
	}
	return b
}

// damageRelu returns the Relu of an array.
func damageRelu(in []byte) []byte {
	out := bytes.Clone(in)
	for at := damageHead; at < len(out); at += 4 {
		if out[at+3]&0x80 != 0 {
			clear(out[at : at+4])
		}
	}
	return out
}

// damageTorch returns the zip entries of a tensor of four elements as torch.save writes them.
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
	names := []string{"Relu.x.1.2.1624605159000000.input.0.npy", "Relu.x.1.2.1624605159000000.output.0.npy", "Relu.y.2.3.1624605159000001.input.0.npy", "Relu.y.2.3.1624605159000001.output.0.npy"}
	large, small := damageArray(900, r), damageArray(300, r)
	files := map[string][]byte{names[0]: large, names[1]: damageRelu(large), names[2]: small, names[3]: damageRelu(small)}
	pt := damageTorch(300, small[damageHead:])
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

// damageTree returns the contents of a folder as a text.
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

// damageMember returns the member of a zip file whose data contain a byte, empty for none.
func damageMember(t *testing.T, data []byte, at int64) string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "" // a tar archive
	}
	for _, f := range r.File {
		begin, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		if at >= begin && at-begin < int64(f.CompressedSize64) {
			return f.Name
		}
	}
	return ""
}

// damageCommands are commands on the undamaged archive GOOD and the damaged archive BAD.
var damageCommands = [][]string{
	{"compare", "--cpu", "GOOD", "--npu", "BAD"},
	{"compare", "determinism", "GOOD", "BAD"},
	{"check", "BAD"},
	{"overflow", "scan", "BAD"},
	{"inspect", "--stats", "BAD"},
}

// damageStatuses returns the exit statuses of the commands and their output.
func damageStatuses(t *testing.T, good, bad string) (statuses []int, texts []string) {
	t.Helper()
	for _, args := range damageCommands {
		line := strings.Split(strings.NewReplacer("GOOD", good, "BAD", bad).Replace(strings.Join(args, "\n")), "\n")
		code, stdout, stderr := damageRun(t, line...)
		statuses, texts = append(statuses, code), append(texts, stdout+stderr)
	}
	return statuses, texts
}

// TestFlippedBits flips single bits in archives: no command uses data that fail a checksum. A
// command either fails with status 3 and names the damaged member or the archive, or it works as on
// the undamaged archive. Files left by convert equal those from the undamaged archive. A directory
// that declares a split archive is refused with status 2, as split archives are.
func TestFlippedBits(t *testing.T) {
	const flips = 9 // of each kind
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll("good", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range damageArchives(t) {
		good := filepath.Join("good", name)
		if err := os.WriteFile(good, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := damageRun(t, "convert", "-t", "bin", "-d", good, "-out", "want"); code != 0 {
			t.Fatalf("%s: status %d: %s", name, code, stderr)
		}
		want := damageTree(t, "want")
		statuses, _ := damageStatuses(t, good, good)
		r := rand.New(rand.NewPCG(3, uint64(len(data))))
		for range flips {
			at, bit := r.IntN(len(data)), r.IntN(8)
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			if err := os.WriteFile(name, bad, 0o666); err != nil {
				t.Fatal(err)
			}
			place := fmt.Sprintf("%s, bit %d of byte 0x%x", name, bit, at)
			damageCheck(t, place, name, good, want, damageMember(t, data, int64(at)), statuses)
		}
		if err := os.RemoveAll("want"); err != nil {
			t.Fatal(err)
		}
	}
}

// damageCheck runs the commands on an archive with a flipped bit, in a member or elsewhere.
func damageCheck(t *testing.T, place, name, good, want, member string, statuses []int) {
	t.Helper()
	code, _, stderr := damageRun(t, "convert", "-t", "bin", "-d", name, "-out", "got")
	got := damageTree(t, "got")
	for line := range strings.Lines(got) {
		if !strings.Contains(want, line) && !strings.HasPrefix(line, "convert_failed_file_list.txt ") {
			t.Errorf("%s: convert, status %d, wrote %.200s: %s", place, code, line, stderr)
		}
	}
	if code == 0 && (got != want || member != "") {
		t.Errorf("%s: convert wrote less, or used the member, and no error: %s", place, stderr)
	}
	if err := os.RemoveAll("got"); err != nil {
		t.Fatal(err)
	}
	found, texts := damageStatuses(t, good, name)
	for i, args := range damageCommands {
		isSplit := found[i] == exitUsage && strings.Contains(texts[i], name+" is a zip archive of several files: unpack it first: 7z x "+name)
		reads := statuses[i] != exitNothing || found[i] != exitNothing // a file of tensors has no operators
		if wanted := damageWanted(code, statuses[i]); found[i] != wanted && reads && !isSplit {
			t.Errorf("%s: %s: status %d, want %d: %s", place, strings.Join(args, " "), found[i], wanted, texts[i])
		}
	}
	found, texts = append(found, code), append(texts, stderr)
	for i, text := range texts {
		if found[i] == exitIncomplete && (!strings.Contains(text, cmp.Or(strings.TrimSuffix(member, ".npy"), name)) || damageCounted().MatchString(text)) {
			t.Errorf("%s: want an error that names %s or %q in it, without a count of bytes before it: %s", place, name, member, text)
		}
	}
}

// damageWanted returns the expected status of a command on a damaged archive, from the status code
// of convert on it, and good of the command on the undamaged archive.
func damageWanted(code, good int) int {
	if code == 0 {
		return good
	}
	return exitIncomplete
}

// damageCounted matches the number of bytes before a damage.
var damageCounted = lang.Pattern(`read \d+ bytes.*(CRC|zip: at)`)

// damageRun runs a command line and returns its status and output.
func damageRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "dumptool", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status says it
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
