package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// channels holds float32 elements of the shape 1x18x2x3, in the order NCHW, and in NC1HWC0 with
// blocks of 16 channels, the last one padded with zeros.
func channels() (host, device []float32) {
	const c, h, w, c0 = 18, 2, 3, 16
	host, device = make([]float32, c*h*w), make([]float32, 2*h*w*c0)
	for i := range c {
		for y := range h {
			for x := range w {
				v := float32(i*100+y*10+x) + 0.5
				host[(i*h+y)*w+x] = v
				device[((i/c0*h+y)*w+x)*c0+i%c0] = v
			}
		}
	}
	return host, device
}

func floats(values []float32) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

func array(t *testing.T, values []float32, shape ...int64) []byte {
	t.Helper()
	header, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
	if err != nil {
		t.Fatal(err)
	}
	return append(header, floats(values)...)
}

func writeTo(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestLayoutCompare: a name or --npu-format gives the layout of the NPU's array or raw file.
func TestLayoutCompare(t *testing.T) {
	t.Parallel()
	host, device := channels()
	reference, blocked := array(t, host, 1, 18, 2, 3), array(t, device, 1, 2, 2, 3, 16)
	for _, test := range []struct {
		name string
		data []byte
		args []string
		want int
	}{
		{"conv1.NC1HWC0.npy", blocked, nil, exitOK},
		{"conv1.output.0.1_2_2_3_16.float32.NC1HWC0.bin", floats(device), nil, exitOK},
		{"conv1_output_0_shape_1_2_2_3_16_Float32_NC1HWC0.bin", floats(device), nil, exitOK},
		{"conv1.npy", blocked, nil, exitFinding},
		{"conv1.npy", blocked, []string{"--npu-format", "NC1HWC0"}, exitOK},
		{"conv1_1x2x2x3x16.bin", floats(device), []string{"--npu-format", "NC1HWC0", "--npu-dtype", "float32"}, exitOK},
		{"conv1.npy", array(t, transposed(host), 1, 2, 3, 18), []string{"--npu-format", "NHWC"}, exitOK},
		{"conv1.npy", blocked, []string{"--npu-format", "XY"}, exitUsage},
	} {
		dir := t.TempDir()
		cpu, npu := filepath.Join(dir, "cpu", "conv1.npy"), filepath.Join(dir, "npu", test.name)
		writeTo(t, cpu, reference)
		writeTo(t, npu, test.data)
		args := append([]string{"compare", "--cpu", filepath.Dir(cpu), "--npu", filepath.Dir(npu), "--profile", "exact", "--out", filepath.Join(dir, "out")}, test.args...)
		if r := runArgs(t, args...); r.code != test.want {
			t.Errorf("%s %v: exit %d\n%s%s", test.name, test.args, r.code, r.out, r.err)
		}
	}
}

// transposed is host in the order NHWC.
func transposed(host []float32) []float32 {
	all := make([]float32, len(host))
	for i, v := range host {
		all[i%6*18+i/6] = v
	}
	return all
}

// TestLayoutConvert: -f converts arrays and raw files by the layout in their names.
func TestLayoutConvert(t *testing.T) {
	t.Parallel()
	host, device := channels()
	want := array(t, host, 1, 18, 2, 3)
	const sync = "S--Conv2D-op1_output_3_shape_1_2_2_3_16_Float32_NC1HWC0"
	const dump = "Conv2D.conv1.1.2.1733905446812345.output.0"
	for _, test := range []struct {
		name string
		data []byte
		args []string
		want string // "" for nothing
	}{
		{"conv1.NC1HWC0.npy", array(t, device, 1, 2, 2, 3, 16), nil, "conv1.1x18x2x3.npy"},
		{dump + ".NC1HWC0.npy", array(t, device, 1, 2, 2, 3, 16), nil, dump + ".1x18x2x3.npy"},
		{dump + ".NC1HWC0.float32.npy", array(t, device, 1, 2, 2, 3, 16), []string{"-t", "msnpy"}, dump + ".NCHW.npy"},
		{sync + ".bin", floats(device), nil, sync + ".1x18x2x3.npy"},
		{sync + ".bin", floats(device), []string{"-o", "3"}, sync + ".1x18x2x3.npy"},
		{sync + ".bin", floats(device), []string{"-o", "0"}, ""},
		{sync + ".bin", floats(device), []string{"-t", "msnpy"}, "S--Conv2D-op1.output.3.NCHW.npy"},
		{dump + ".DefaultFormat.npy", array(t, device, 1, 2, 2, 3, 16), nil, ""},
		{"conv1.npy", array(t, device, 1, 2, 2, 3, 16), nil, ""},
	} {
		dir := t.TempDir()
		writeTo(t, filepath.Join(dir, "in", test.name), test.data)
		r := runArgs(t, append([]string{"convert", "-d", filepath.Join(dir, "in", test.name), "-out", filepath.Join(dir, "out"), "-f", "NCHW", "-s", "1,18,2,3"}, test.args...)...)
		got := readDir(t, filepath.Join(dir, "out"))
		switch {
		case test.want == "" && (r.code != exitIncomplete || len(got) > 0):
			t.Errorf("%s %v: exit %d, %d files", test.name, test.args, r.code, len(got))
		case test.want != "" && (r.code != exitOK || len(got) != 1 || !bytes.Equal(got[test.want], want)):
			t.Errorf("%s %v: exit %d, %d files, %s", test.name, test.args, r.code, len(got), r.err)
		}
	}
}

// TestUnknownLayout: files with an unknown format in the name are still read.
func TestUnknownLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	host, _ := channels()
	const name = "x_output_0_shape_1_18_2_3_Float32_ABC_D"
	writeTo(t, filepath.Join(dir, name+".bin"), floats(host))
	r := runArgs(t, "convert", "-d", dir, "-out", filepath.Join(dir, "out"))
	if got := readDir(t, filepath.Join(dir, "out")); r.code != exitOK || !bytes.Equal(got[name+".npy"], array(t, host, 1, 18, 2, 3)) ||
		!strings.Contains(r.err, `the format "ABC_D" in the name is not known`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	// The result is beside its source, and is not converted again.
	r = runArgs(t, "convert", "-d", dir, "-out", dir, "--format", "NCHW")
	r2 := runArgs(t, "convert", "-d", dir, "-out", dir)
	if r.code != exitOK || r2.code != exitOK {
		t.Errorf("exit %d, %d: %s%s", r.code, r2.code, r.err, r2.err)
	}
}
