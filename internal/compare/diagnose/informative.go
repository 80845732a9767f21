package diagnose

import "slices"

// minDistinct is the number of values below which a match may be one
// coincidence, repeated.
const minDistinct = 3

// informative counts the samples where a 0 would not pass. Beside a reference of
// zeros nearly every small number passes, however it is read.
type informative struct {
	count, good, fixed int
	values, wants      []complex128 // distinct ones of the good samples, the first few
}

func (i *informative) add(value, want complex128, good, wrong bool) {
	i.count++
	if !good {
		return
	}
	i.good++
	if wrong {
		i.fixed++
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

// agrees reports whether the informative samples agree with the hypothesis, and
// are not one value over and over.
func (i *informative) agrees() bool {
	return i.good*100 >= i.count*95 && i.fixed >= minDistinct && i.varied()
}

// varied reports whether there are several values on both sides.
func (i *informative) varied() bool {
	return len(i.values) >= minDistinct && len(i.wants) >= minDistinct
}
