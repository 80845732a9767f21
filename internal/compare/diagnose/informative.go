package diagnose

import "slices"

// minDistinct is the number of values below which a match may be one
// coincidence, repeated.
const minDistinct = 3

// informative counts the samples that say something: a 0 would not pass in the
// place of the value that is wanted. Nearly every small number passes against a
// reference of zeros, however it is read.
type informative struct {
	count, good, mended int
	values, wants       []complex128 // distinct ones of the good samples, the first few
}

func (i *informative) add(value, want complex128, good, wrong bool) {
	i.count++
	if !good {
		return
	}
	i.good++
	if wrong {
		i.mended++
	}
	i.values, i.wants = distinctWith(i.values, value), distinctWith(i.wants, want)
}

// distinctWith adds a value to the first few distinct ones.
func distinctWith(values []complex128, v complex128) []complex128 {
	if len(values) >= minDistinct || slices.Contains(values, v) {
		return values
	}
	return append(values, v)
}

// tells reports whether the samples that say something agree with the
// hypothesis, and are not one value over and over.
func (i *informative) tells() bool {
	return i.good*100 >= i.count*95 && i.mended >= minDistinct && i.varied()
}

// varied reports whether there are several values on both sides.
func (i *informative) varied() bool {
	return len(i.values) >= minDistinct && len(i.wants) >= minDistinct
}
