package layout

import (
	"fmt"

	"dumptool/internal/tensor"
)

// Crop plans the leading part of a dense array: want[i] of got[i] positions of
// every axis.
func Crop(got, want tensor.Shape) (*Plan, error) {
	if len(got) != len(want) {
		return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
			Relation: fmt.Sprintf("rank is %d, want %d", len(got), len(want))}
	}
	b := block{spans: make([]span, len(want))}
	for i, stride := range got.Strides() {
		if want[i] > got[i] {
			return nil, &ShapeError{Format: tensor.ND, Stored: got, Host: want,
				Relation: fmt.Sprintf("dimension %d is %d, want at least %d", i, got[i], want[i])}
		}
		b.spans[i] = linear(want[i], stride)
	}
	m := &Map{Device: got, Axes: denseAxes(want), blocks: listOf(b)}
	return &Plan{Shape: want, Format: tensor.ND, steps: []step{{m: m}}}, nil
}
