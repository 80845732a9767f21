package align

import (
	"fmt"
	"strings"

	"dumptool/internal/layout"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// dtypeFlags are the flags with the types of raw files, of the reference and of
// the NPU.
var dtypeFlags = [...]string{"--ref-dtype", "--bin-dtype"}

// rawTypes are the types that raw files usually have.
var rawTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64,
	tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64}

// hintOf is what a tensor says about the raw file that it is compared with: a
// device layout says its original shape only.
func hintOf(t *Tensor) tensorfile.RawHint {
	if layout.IsHost(t.Format) {
		return tensorfile.RawHint{DType: t.DType, Shape: t.Stored}
	}
	hint := tensorfile.RawHint{DType: t.DType}
	if len(t.OriginalShape) > 0 {
		hint.Shape, hint.Format = t.OriginalShape, t.OriginalFormat
	}
	return hint
}

// withTypes adds to the error of a raw file whose type was taken from the other
// side the types by which it has the right size.
func withTypes(r *Ref, hint tensorfile.RawHint, flag string, err error) error {
	n, ok := hint.Shape.Count()
	if !r.Raw || r.hasType() || hint.Shape == nil || !ok {
		return err
	}
	info, statError := store.Stat(r.Path)
	if need, ok := hint.DType.Bytes(n); statError != nil || ok && need == info.Size() {
		return err
	}
	var fit []string
	for _, d := range rawTypes {
		if need, ok := d.Bytes(n); ok && need == info.Size() {
			fit = append(fit, d.String())
		}
	}
	if len(fit) == 0 {
		return err
	}
	return fmt.Errorf("%w, the size of %s (%s)", err, strings.Join(fit, " or "), flag)
}
