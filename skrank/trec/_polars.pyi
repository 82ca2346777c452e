# The names of polars that `_polars.py` offers, for type checkers.
from polars import Categorical as Categorical
from polars import DataFrame as DataFrame
from polars import Enum as Enum
from polars import Float64 as Float64
from polars import LazyFrame as LazyFrame
from polars import Series as Series
from polars import String as String
from polars import all as all
from polars import all_horizontal as all_horizontal
from polars import col as col
from polars import concat as concat
from polars import exceptions as exceptions
from polars import int_range as int_range
from polars import len as len
from polars import read_csv as read_csv
from polars import scan_parquet as scan_parquet
from polars import struct as struct
