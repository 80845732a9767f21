package inspect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// TestInterruptedFile: reading stops in the middle of a tensor.
func TestInterruptedFile(t *testing.T) {
	t.Parallel()
	out := dumptest.TensorContent{
		Payload: dumptest.Bytes(make([]byte, 4)), StoredDType: int32(tensor.Float32), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{1},
	}
	var b bytes.Buffer
	err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "x", Outputs: []dumptest.TensorContent{out}})
	path := filepath.Join(t.TempDir(), "x")
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &worker{opt: Options{Stats: true}, run: &dumpdir.Run{}}
	f := w.file(ctx, &dumpdir.File{Folder: &dumpdir.Folder{Path: path}, Name: "x"})
	if !errors.Is(f.Err, context.Canceled) || len(f.Outputs) > 0 {
		t.Errorf("got %+v, want context.Canceled alone", f)
	}
}
