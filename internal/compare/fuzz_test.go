package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// fuzzNames returns the names of the files with random bytes.
func fuzzNames() []string {
	return []string{
		"a.npy", "a.bin", "a.txt", "Add.a.1.2.1600000000000000", "Add.a.1.2.1600000000000001", "a.0.1600000000000000.npy",
		"Add.a.1.2.1600000000000000.output.0.2_2.float16.NC1HWC0.bin", "a_output_0_shape_2_2_Float32_DefaultFormat.bin",
		"sub/a.npy", "b_2_2.bin", "mapping.csv", "Opdebug.Node_OpDebug.1.2.1600000000000000",
	}
}

// openedPlan opens both sides and plans their comparison.
func openedPlan(opt *conclude.Options) ([]*plan.Side, *Run, error) {
	var sides []*plan.Side
	for _, path := range []string{opt.Ref, opt.NPU} {
		side, err := plan.OpenSide(context.Background(), &opt.Options.Options, path, dumpdir.Selection{})
		if err != nil {
			return nil, nil, err
		}
		sides = append(sides, side)
	}
	run, err := New(context.Background(), *opt)
	return sides, run, err
}

// FuzzRun compares folders of files with random bytes. A run must not panic, and every tensor of every file must be
// in a row or superseded, unless its round has no partner.
func FuzzRun(f *testing.F) {
	const d = tensor.Float16
	four := array(d, tensor.Shape{2, 2}, ramp(4)...)
	dump := outputDump(f, "a", d, tensor.Shape{2, 2}, ramp(4)...)
	device := dumpOf(f, "a", nil, []dumptest.TensorContent{dumped(d, tensor.NC1HWC0, tensor.Shape{1, 1, 2, 2, 16}, tensor.Shape{1, 3, 2, 2}, make([]byte, 128))})
	f.Add(uint32(0x00010001), byte(0), four, four)
	f.Add(uint32(0x00090001), byte(1), four, dump)
	f.Add(uint32(0x00080001), byte(2), four, device)
	f.Add(uint32(0x02100210), byte(4), four, dump)
	f.Add(uint32(0x00020001), byte(8), four, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(uint32(0x00040001), byte(16), four, []byte("1 2\n3 nan\n"))
	f.Add(uint32(0x01010101), byte(0), four[:20], four)
	f.Add(uint32(0x02000200), byte(0), four, []byte{})
	f.Add(uint32(0x04000401), byte(0), []byte("name,a\n,\n"), []byte("0,"))
	f.Add(uint32(0x08000800), byte(0), make([]byte, 64), dump[:20])
	f.Add(uint32(0x00080008), byte(32), dump[:len(dump)-3], bytes.Repeat([]byte{0xff}, 40))
	pool := metrics.NewPool()
	// All iterations share the files by links: creating them takes longer than a run.
	dir := f.TempDir()
	sides := []string{filepath.Join(dir, "ref"), filepath.Join(dir, "npu")}
	kept := func(side, name int) string { return filepath.Join(dir, fmt.Sprintf("%d.%d", side, name)) }
	for i, side := range sides {
		for k := range fuzzNames() {
			write(f, kept(i, k), nil)
		}
		write(f, filepath.Join(side, "notes.md"), nil)
		write(f, filepath.Join(side, "sub", "notes.md"), nil)
	}
	f.Fuzz(func(t *testing.T, which uint32, flags byte, ref, npu []byte) {
		for i, data := range [][]byte{ref, npu} {
			for k, name := range fuzzNames() {
				path := filepath.Join(sides[i], name)
				if which>>(16*i+k)&1 == 0 {
					continue
				}
				if err := os.WriteFile(kept(i, k), data, 0o666); err != nil {
					t.Fatal(err)
				}
				if err := os.Link(kept(i, k), path); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(path)
			}
		}
		opt := hpaa(sides[0], sides[1])
		opt.Workers, opt.KLD, opt.Keep = 1, flags&1 != 0, flags&2 != 0
		opt.Shape = align.Options{Force: flags&4 != 0, CropPadding: flags&8 != 0, AutoLayout: []align.AutoLayout{align.LayoutByValues, align.LayoutByShape}[flags>>4&1]}
		if flags&32 != 0 {
			opt.Shape.MaxElements = 2
		}
		opt.Pair.Inputs = true
		opt.Pool = pool
		opened, run, err := openedPlan(&opt)
		if errors.Is(err, plan.ErrNothing) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, err := run.Execute(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		rep := run.Conclude(parts)
		shown := fmt.Sprint(rep.Coverage.Superseded)
		for i := range rep.Rows {
			row := &rep.Rows[i]
			shown += " " + row.RefFile + " " + row.NPUFile
			for _, r := range row.Reasons {
				shown += " " + r.Evidence.String()
			}
			if row.Status == "" || (row.Status == record.Error) != (row.Err != nil) {
				t.Errorf("%s has the status %q with error %v", row.Name(), row.Status, row.Err)
			}
		}
		if len(rep.Coverage.Rounds) > 0 {
			return
		}
		for _, side := range opened {
			for i := range side.Tensors {
				if text := side.Tensors[i].String(); !strings.Contains(shown, text) {
					t.Errorf("%s is in no row", text)
				}
			}
		}
	})
}
