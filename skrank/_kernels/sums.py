"""Sums in SIMD whose order, and so whose bits, do not depend on the processor.

LLVM does not reorder a sum on its own, so that a loop which adds floating-point numbers does not
run in SIMD. `sum_lanes` adds vectors of eight numbers, which LLVM divides among registers of any
width. Only instructions of LLVM express this: numba has no type for vectors.
"""

import numpy as np

from skrank._kernels.jit import emitted

N_SUMS = 8  # entries of a vector on every processor; another number would change bits


def _emit():
    from llvmlite import ir
    from numba.core.cgutils import create_struct_proxy
    from numba.extending import intrinsic
    from numba.types import uint64

    @intrinsic
    def add(typing_context, values, start, end):
        def code(context, builder, signature, arguments):
            proxy = create_struct_proxy(values)(context, builder, value=arguments[0])
            return _loop(ir, builder, proxy.data, *arguments[1:])

        return values.dtype(values, uint64, uint64), code

    return lambda values, start, end: add(values, start, end)  # `overload` needs a function


def _loop(ir, builder, data, start, end):
    """Write the instructions of `sum_lanes`; `start` and `end` are integers of 64 bits."""
    vector = ir.VectorType(data.type.pointee, N_SUMS)
    before = builder.block
    loop, after = builder.append_basic_block(), builder.append_basic_block()
    builder.cbranch(builder.icmp_unsigned("<", start, end), loop, after)

    builder.position_at_end(loop)
    at, sums = builder.phi(start.type), builder.phi(vector)
    address = builder.bitcast(builder.gep(data, [at]), vector.as_pointer())
    added = builder.fadd(sums, builder.load(address, align=1))
    following = builder.add(at, ir.Constant(start.type, N_SUMS))
    builder.cbranch(builder.icmp_unsigned("<", following, end), loop, after)

    builder.position_at_end(after)
    total = builder.phi(vector)
    zeros = ir.Constant(vector, [0.0] * N_SUMS)
    for phi, first, later in (at, start, following), (sums, zeros, added), (total, zeros, added):
        phi.add_incoming(first, before)
        phi.add_incoming(later, loop)
    return _halve(ir, builder, total)


def _halve(ir, builder, vector):
    """Add the upper half of a vector to the lower half, until one number is left."""
    size = vector.type.count
    while size > 1:
        size //= 2
        lower, upper = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), size), list(places))
            )
            for places in (range(size), range(size, 2 * size))
        )
        vector = builder.fadd(lower, upper)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@emitted(_emit)
def sum_lanes(values, start, end):
    """Sum of ``values[start:end]``; end - start is a multiple of N_SUMS, both are unsigned.

    Number i is added to running sum i modulo N_SUMS, and the running sums are added by halves.
    """
    sums = np.zeros(N_SUMS, values.dtype)
    for block in values[int(start) : int(end)].reshape(-1, N_SUMS):
        sums += block
    while len(sums) > 1:
        lower, upper = np.split(sums, 2)
        sums = lower + upper
    return sums[0]
