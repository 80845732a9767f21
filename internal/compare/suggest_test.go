package compare

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Default/conv1/Conv2D-op1", "Default/conv2/Conv2D-op2", "relu", "relu_1", "softmax"}
	for word, want := range map[string]string{
		"conv2/": "Default/conv2/Conv2D-op2", "Default_conv1_Conv2D-op1": "Default/conv1/Conv2D-op1",
		"RELU": "relu relu_1", "sofmax": "softmax", "sfotmax": "softmax", "batchnorm": "",
	} {
		if got := strings.Join(nearest(word, names), " "); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
