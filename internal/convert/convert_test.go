package convert

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// tensorOf is a tensor for a dump.
func tensorOf(d tensor.DType, f tensor.Format, shape, original tensor.Shape, data []byte) dumptest.TensorContent {
	unsigned := func(s tensor.Shape) []uint64 {
		var u []uint64
		for _, d := range s {
			u = append(u, uint64(d))
		}
		return u
	}
	return dumptest.TensorContent{
		Payload:       dumptest.Bytes(data),
		StoredDType:   int32(d),
		StoredFormat:  tensor.FormatWord(f),
		Shape:         unsigned(shape),
		OriginalShape: unsigned(original),
	}
}

// writeDump writes a dump file and returns its path.
func writeDump(t *testing.T, dir, name string, c *dumptest.Content) string {
	t.Helper()
	if c.Container == 0 {
		c.Container = dumpfmt.BinaryV2
	}
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(dir, name), b.Bytes())
}

func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// convertAll runs a conversion and returns its results.
func convertAll(t *testing.T, opt Options, paths ...string) (Summary, []Result) {
	t.Helper()
	if opt.Type == "" {
		opt.Type = Npy
	}
	var results []Result
	in, _, err := opt.Open(t.Context(), paths, false)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Run(context.Background(), opt, in, nil, func(r *Result) error {
		results = append(results, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, results
}

// opened opens the run at a path.
func opened(t *testing.T, path string) *dumpdir.Run {
	t.Helper()
	in, err := dumpdir.Open(t.Context(), []string{path}, dumpdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// tree lists the files below a folder with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// names lists the files below a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for name := range tree(t, dir) {
		all = append(all, name)
	}
	return all
}

func TestOutputName(t *testing.T) {
	const base = "Conv2D.conv1.3.1.1700000000000000"
	stored := product{Row: &Row{Kind: "output", Index: 0}, shape: tensor.Shape{2, 2, 3, 3, 16}, format: tensor.NC1HWC0, dtype: "float16"}
	converted := product{Row: &Row{Kind: "input", Index: 1}, shape: tensor.Shape{128, 64, 32, 32}, format: tensor.NCHW, converted: true, dtype: "float16"}
	tests := []struct {
		t      Type
		base   string
		opName string
		p      product
		want   string
	}{
		{Npy, base, "a/b", stored, base + ".output.0.npy"},
		{Npy, base, "a/b", converted, base + ".input.1.128x64x32x32.npy"},
		{Bin, base, "a/b", stored, base + ".output.0.576.float16.NC1HWC0.bin"},
		{Bin, base, "a/b", converted, base + ".input.1.128_64_32_32.float16.NCHW.bin"},
		{MSNpy, base, "a/b", stored, "Conv2D.b.3.1.1700000000000000.output.0.NC1HWC0.npy"},
		{MSNpy, base, "a/b", converted, "Conv2D.b.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, base, "", converted, base + ".input.1.NCHW.npy"},
		{MSNpy, base, "a/..", converted, "Conv2D.__.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, base, `a/b\c`, converted, "Conv2D.b_c.3.1.1700000000000000.input.1.NCHW.npy"},
		{MSNpy, "Conv2D.conv1.3.1700000000000000", "a/b", converted, "Conv2D.conv1.3.1700000000000000.input.1.NCHW.npy"},
		{Txt, base, "a/b", stored, base + ".output.0.txt"},
		{Txt, base, "a/b", converted, base + ".input.1.128x64x32x32.txt"},
	}
	for _, tt := range tests {
		if got := outputName(tt.t, tt.base, tt.opName, tt.p); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.t, got, tt.want)
		}
	}
}
