package report

import (
	"context"

	"dumptool/internal/checkpoint"
)

// twoCheckpoints compares golden weights with a row that is wrong.
func twoCheckpoints() *checkpoint.Report {
	const dir = "../../testdata/golden/checkpoints/"
	r, err := checkpoint.Compare(context.Background(), checkpoint.Options{A: dir + "hf.safetensors", B: dir + "faulty", Workers: 1})
	if err != nil {
		panic(err)
	}
	return r
}
