package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var updateHanded = flag.Bool("update-handed", false, "write the files in testdata/handed again")

// handed is the folder of runs as users hand them over.
var handed = filepath.Join("..", "..", "testdata", "handed")

// handedFiles makes the files in handed, by path.
func handedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	network := folderFiles(t, filepath.Join("..", "..", "testdata", "network"))
	handArchives(t, all, network)
	handOthers(all, network)
	handNames(t, all)
	handFrameworks(t, all)
	handAxes(all)
	handSteps(all)
	return all
}

// handOthers adds the other files that people leave beside dumps.
func handOthers(all map[string][]byte, network []handedFile) {
	for _, f := range network {
		all["others/"+f.name] = f.data
	}
	all["others/cpu/README.txt"] = []byte("The reference of Tuesday, by hand.\n")
	all["others/npu/README.txt"] = []byte("Outputs of the second run, see train.log\n")
	all["others/npu/train.log"] = []byte("step 1 loss 0.5\n")
	all["others/npu/loss.png"] = []byte("\x89PNG\r\n\x1a\n")
	all["others/npu/notes"] = []byte("ask about conv2\n")
}

// handNames renames the files of msprobe: as downloads are named, and as people name them to keep
// two runs in one folder.
func handNames(t *testing.T, all map[string][]byte) {
	t.Helper()
	for _, side := range []string{"bench", "npu"} {
		for _, f := range folderFiles(t, filepath.Join("..", "..", "testdata", "golden", "inputs", "msprobe", "statistics", side, "step0", "rank0")) {
			stem, _ := strings.CutSuffix(f.name, ".json")
			all["renamed/"+side+"/"+stem+" (1).json"] = f.data
			if side == "npu" {
				all["names/pangu38B_"+f.name] = f.data
			} else {
				all["names/"+stem+"_bench.json"] = f.data
			}
		}
	}
}

// handAxes writes the outputs of two operators in two axis orders, as traces of a TensorFlow and a
// PyTorch script have them.
func handAxes(all map[string][]byte) {
	const c, h, w = 8, 4, 5
	for seed, op := range []string{"conv1", "relu1"} {
		nhwc, nchw := make([]float32, c*h*w), make([]float32, c*h*w)
		x := uint32(seed + 1)
		for i := range nhwc {
			x = x*1664525 + 1013904223
			v := float32(x>>16)/(1<<15) - 1
			if op == "relu1" {
				v = max(v, 0)
			}
			nhwc[i] = v
			nchw[i%c*h*w+i/c] = v
		}
		all["axes/nhwc/"+op+".npy"] = handNpy([]int{1, h, w, c}, nhwc)
		all["axes/nchw/"+op+".npy"] = handNpy([]int{1, c, h, w}, nchw)
	}
}

// handSteps writes two steps of a run, and a run with both of its sides.
func handSteps(all map[string][]byte) {
	for _, step := range []string{"step0", "step7"} {
		all["steps/"+step+"/loss.npy"] = handNpy([]int{4}, []float32{1, 2, 3, float32(len(step))})
	}
	all["nested/r8/cpu/loss.npy"] = handNpy([]int{4}, []float32{1, 2, 3, 4})
	all["nested/r8/npu/loss.npy"] = handNpy([]int{4}, []float32{1, 2, 3, 9})
}

// handNpy is an array as numpy writes it.
func handNpy(shape []int, values []float32) []byte {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		text += ","
	}
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", text)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	b = append(b, head...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// TestHanded: testdata/handed equals the generator's output.
func TestHanded(t *testing.T) {
	t.Parallel()
	want := handedFiles(t)
	if *updateHanded {
		if err := os.RemoveAll(handed); err != nil {
			t.Fatal(err)
		}
		for name, data := range want {
			path := filepath.Join(handed, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := folderFiles(t, handed)
	for _, f := range got {
		if !bytes.Equal(want[f.name], f.data) {
			t.Errorf("testdata/handed/%s is not what its generator makes; go test ./cmd/dumptool -run TestHanded -update-handed writes it", f.name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("testdata/handed has %d files, want %d", len(got), len(want))
	}
}

// handedFile is a file below a folder.
type handedFile struct {
	name string
	data []byte
}

// folderFiles are the files below a folder in the order of their names.
func folderFiles(t *testing.T, root string) (all []handedFile) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, handedFile{filepath.ToSlash(name), data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// handArchives packs a network: both sides in one archive of each kind, as `tar czf` and
// file managers make them, and one with names that must not be used.
func handArchives(t *testing.T, all map[string][]byte, network []handedFile) {
	t.Helper()
	tarred := handTar(t, network, func(w *tar.Writer) {})
	all["archives/run.tar"] = tarred
	all["archives/run.tgz"] = handCompressed(t, tarred, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	all["archives/run.tar.zst"] = handCompressed(t, tarred, func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	})
	all["archives/run.zip"] = handZip(t, network, zip.Deflate)
	all["archives/stored.zip"] = handZip(t, network, zip.Store)
	relu1 := network[slices.IndexFunc(network, func(f handedFile) bool { return f.name == "cpu/relu1.npy" })]
	all["archives/odd.tar"] = handTar(t, network, func(w *tar.Writer) {
		for _, h := range []tar.Header{
			{Name: "../escaped.npy"}, {Name: "/tmp/absolute.npy"}, {Name: "cpu/link.npy", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
			{Name: network[0].name, Size: int64(len(relu1.data))}, // again: the last of equal names counts
			{Name: "cpu/hard.npy", Typeflag: tar.TypeLink, Linkname: "./cpu/fc.npy", Mode: 0o644},
		} {
			err := w.WriteHeader(&h)
			if err == nil && h.Size > 0 {
				_, err = w.Write(relu1.data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// handTar packs files, and the entries that more writes.
func handTar(t *testing.T, files []handedFile, more func(*tar.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: "./" + f.name, Mode: 0o644, Size: int64(len(f.data)), Format: tar.FormatGNU})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	more(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// handCompressed compresses data.
func handCompressed(t *testing.T, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// handZip packs files.
func handZip(t *testing.T, files []handedFile, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: method})
		if err == nil {
			_, err = to.Write(f.data)
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
